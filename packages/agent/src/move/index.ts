export { type Move, moveWorkload } from "./move-workload.ts";
export { type Place, placeIn } from "./site-affinity.ts";
