/** Which pods a drain of a contract concerns, at either side: for whoever waits for its end. */
export { lineOf } from "../market/index.ts";
export { CONTRACT_ANNOTATION } from "./guest/guest-pod.ts";
export { isToGo } from "./node/evictions.ts";
