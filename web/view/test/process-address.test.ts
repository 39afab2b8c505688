import { describe, expect, it } from "vitest";
import { cameThroughTunnel, linkTo, portOf } from "../src/state/process-address.ts";

describe("linkTo", () => {
  it.each(["http://127.0.0.1:8731/#t=00ff", "http://localhost:8731/#t=00ff", "http://[::1]:8731/#t=00ff"])(
    "GIVEN the address of a server of this machine, %s THEN it is a link",
    (address) => {
      expect(linkTo(address)).toBe(address);
    },
  );

  it.each([
    "javascript:alert(1)",
    "JavaScript:alert(1)//http://127.0.0.1/",
    "data:text/html,x",
    "file:///etc/passwd",
    "https://127.0.0.1:8731/",
    "ftp://127.0.0.1/",
    "http://example.org/#t=00ff",
    "http://127.0.0.1.example.org:8731/",
    "http://127.0.0.2:8731/",
    "http://0.0.0.0:8731/",
    "http://localhost.:8731/",
    "http://127.0.0.1@example.org/",
    "http://someone:secret@127.0.0.1:8731/",
    "http://example.org@127.0.0.1:8731/",
    "http://127.0.0.1:99999/",
    "//127.0.0.1:8731/",
    "/",
    "",
  ])("GIVEN %j THEN it is no link", (address) => {
    expect(linkTo(address)).toBeNull();
  });
});

describe("cameThroughTunnel", () => {
  const own = "http://127.0.0.1:5001/#t=00ff";

  it.each([
    ["http://127.0.0.1:5001/", false],
    ["http://localhost:5001/#t=1", false],
    ["http://[::1]:5001/x", false],
    ["http://localhost:9999/", true],
    ["http://build-7:5001/", true],
    ["https://127.0.0.1:5001/", true],
    ["http://127.0.0.1/", true],
  ])("GIVEN a page at %s of a server at 127.0.0.1:5001 THEN it is %s", (here, tunnel) => {
    expect(cameThroughTunnel(here, own)).toBe(tunnel);
  });

  it("GIVEN an address of the server that is none THEN nothing is said", () => {
    expect(cameThroughTunnel("http://127.0.0.1:1/", "")).toBe(false);
  });
});

describe("portOf", () => {
  it.each([
    ["http://127.0.0.1:8731/#t=0", "8731"],
    ["http://127.0.0.1/", "80"],
    ["https://host/x/", "443"],
    ["nothing", "?"],
  ])("WHEN the address is %s THEN the port is %s", (address, port) => {
    expect(portOf(address)).toBe(port);
  });
});
