export { buildRelease, PARTS, PROGRAMS, SPLIT } from "./build-release.ts";
export { ensureAgent, ensureFjord } from "./fjord-program.ts";
