export { buildRelease, PARTS, PROGRAMS, SPLIT } from "./build-release.ts";
export { ensureFjord } from "./fjord-program.ts";
