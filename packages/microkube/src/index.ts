export { type Microkube, type MicrokubeOptions, startMicrokube } from "./microkube.ts";
