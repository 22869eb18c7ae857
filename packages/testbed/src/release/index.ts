export { buildRelease, PARTS, PROGRAMS } from "./build-release.ts";
