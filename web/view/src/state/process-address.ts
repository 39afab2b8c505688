// Which addresses of other processes the page goes to, and whether they can be reached from here.

/** Names of the machine that a browser runs on, as URL.hostname writes them. */
const OWN_NAMES: readonly string[] = ["127.0.0.1", "localhost", "[::1]"];

/** The address of another process's page as a link may have it; null: it is none, so it is not followed. */
export function linkTo(address: string): string | null {
  const url = parse(address);
  if (url === null || url.protocol !== "http:" || !OWN_NAMES.includes(url.hostname)) return null;
  // Nothing that serves itself on this machine needs them; they only make an address look like another.
  return url.username === "" && url.password === "" ? url.href : null;
}

/**
 * Whether a page came another way than from its server's own port: through a tunnel, or a proxy. The other processes'
 * ports are then not where their addresses say. `own`: the server's own address of this page.
 */
export function cameThroughTunnel(here: string, own: string): boolean {
  const [page, server] = [parse(here), parse(own)];
  if (page === null || server === null) return false;
  return page.protocol !== "http:" || !OWN_NAMES.includes(page.hostname) || portOf(here) !== portOf(own);
}

/** "8731" */
export function portOf(address: string): string {
  const url = parse(address);
  return url === null ? "?" : url.port || (url.protocol === "https:" ? "443" : "80");
}

function parse(address: string): URL | null {
  return URL.canParse(address) ? new URL(address) : null;
}
