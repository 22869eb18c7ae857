export { FLEET_LABEL, Fleet, type FleetOptions } from "./fleet.ts";
export { FleetNode, type NodePlan, nodeAnnotations } from "./fleet-node.ts";
export { FleetPods, type FleetPodsOptions, type PodHost } from "./fleet-pods.ts";
export { FleetServer, type FleetServerOptions } from "./fleet-server.ts";
