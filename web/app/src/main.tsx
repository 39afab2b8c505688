import "@flamelet/view/style.css";
import { FlameletPage } from "@flamelet/view";
import { render } from "preact";
import { connect } from "./connect.ts";
import { takeToken, tokenIn } from "./token.ts";

const page = connect(takeToken(window));
const root = document.getElementById("flamelet");
if (root !== null) render(<FlameletPage page={page} />, root);

// Another program's URL pasted over this one changes only the fragment, which loads nothing by itself.
window.addEventListener("hashchange", () => {
  if (tokenIn(location.hash) !== "") location.reload();
});
