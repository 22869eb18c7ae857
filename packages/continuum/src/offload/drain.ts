/** Which pods a drain of a contract concerns, at either side: for whoever waits for its end. */
export { CONTRACT_ANNOTATION } from "./guest/guest-pod.ts";
export { newestOf } from "./node/contract-line.ts";
export { isToGo } from "./node/evictions.ts";
