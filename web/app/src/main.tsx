import "@flamelet/view/style.css";
import { FlameletPage } from "@flamelet/view";
import { render } from "preact";
import { connect } from "./connect.ts";
import { takeToken } from "./token.ts";

const page = connect(takeToken(window));
const root = document.getElementById("flamelet");
if (root !== null) render(<FlameletPage page={page} />, root);
