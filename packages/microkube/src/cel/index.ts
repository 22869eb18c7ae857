export * from "./environment.ts";
export { expression } from "./texts.ts";
export * from "./values.ts";
