export { OFFLOADED_CONDITION, withReach } from "./home-conditions.ts";
export { homeStatus, refusedStatus, type StatusSources, waiting } from "./home-status.ts";
export { addressOf } from "./sane.ts";
