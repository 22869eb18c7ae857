export {
  ParkedConnections,
  type ParkedConnectionsOptions,
  TUNNEL_PATH,
  TUNNEL_UPGRADE,
} from "./parked-connections.ts";
export { type DialledPeer, TunnelDialler, type TunnelDiallerOptions } from "./tunnel-dialler.ts";
