export { type Move, moveWorkload } from "./move-workload.ts";
export { nodeObstacles } from "./obstacles.ts";
export { affinityFor, type Place, placeIn } from "./site-affinity.ts";
