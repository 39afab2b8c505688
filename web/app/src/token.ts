/** The parts of `window` that hold the token. */
export interface TokenPlace {
  location: { hash: string; pathname: string; search: string };
  history: { replaceState(data: unknown, unused: string, url: string): void };
  sessionStorage: { getItem(key: string): string | null; setItem(key: string, value: string): void };
}

/** The token in an address's fragment `#t=TOKEN`, "" when there is none. */
export function tokenIn(hash: string): string {
  return new URLSearchParams(hash.slice(1)).get("t") ?? "";
}

/**
 * The token of the address: moved to the session's storage, and out of the address, where it would be copied along, seen
 * by who looks over the shoulder, and kept in the history. "" when there is none. The key holds the path: behind a proxy
 * several programs share an origin. Where storage is forbidden the token stays in the address, or a reload would lose it.
 */
export function takeToken(place: TokenPlace): string {
  const key = `flamelet token ${place.location.pathname}`;
  const token = tokenIn(place.location.hash);
  try {
    if (token === "") return place.sessionStorage.getItem(key) ?? "";
    place.sessionStorage.setItem(key, token);
  } catch {
    return token;
  }
  place.history.replaceState(null, "", place.location.pathname + place.location.search);
  return token;
}
