/** The parts of `window` that hold the token. */
export interface TokenPlace {
  location: { hash: string; pathname: string; search: string };
  history: { replaceState(data: unknown, unused: string, url: string): void };
  sessionStorage: { getItem(key: string): string | null; setItem(key: string, value: string): void };
}

/**
 * The token of `#t=TOKEN`: moved to the session's storage, and out of the address, where it would be copied along, seen by
 * who looks over the shoulder, and kept in the history. "" when there is none. The key holds the path: behind a proxy
 * several programs share an origin.
 */
export function takeToken(place: TokenPlace): string {
  const key = `flamelet token ${place.location.pathname}`;
  const token = new URLSearchParams(place.location.hash.slice(1)).get("t");
  if (token !== null && token !== "") {
    place.sessionStorage.setItem(key, token);
    place.history.replaceState(null, "", place.location.pathname + place.location.search);
    return token;
  }
  return place.sessionStorage.getItem(key) ?? "";
}
