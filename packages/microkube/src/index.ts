export * from "./errors.ts";
export { type Microkube, type MicrokubeOptions, startMicrokube } from "./microkube.ts";
