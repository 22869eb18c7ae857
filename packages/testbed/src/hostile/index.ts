export { HostilePeer } from "./hostile-peer.ts";
export { HOSTILE_DSCP, packetOf, udp } from "./packets.ts";
export { shapesOf } from "./shapes.ts";
