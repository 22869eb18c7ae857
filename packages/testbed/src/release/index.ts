export { buildRelease, PARTS, PROGRAMS, SPLIT } from "./build-release.ts";
