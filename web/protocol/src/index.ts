export { ProtocolError } from "./check.ts";
export * from "./incoming.ts";
export * from "./messages.ts";
export * from "./request.ts";
export { checkUpdate } from "./update.ts";
