export * from "./connection.ts";
export * from "./core.ts";
export * from "./picture.ts";
export * from "./random.ts";
export * from "./shop.ts";
export * from "./simulator.ts";
export * from "./vectors.ts";
