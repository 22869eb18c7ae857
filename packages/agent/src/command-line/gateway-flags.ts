import type { WireguardChoice } from "@fjord/continuum/gateway";

/** At which metrics are served to others than this machine: another one than those that are for it alone. */
export const SCRAPE_PORT = 7449;

/** Options of all that `fjord-agent gateway` does. */
export interface GatewayFlags {
  interface: string;
}

export interface GatewayRunFlags extends GatewayFlags {
  wireguard: WireguardChoice;
  wireguardGo: string;
  kubeconfig?: string;
  context?: string;
  namespace: string;
  node?: string;
  role: "gateway" | "node";
  tunnel: boolean;
  endpoint: string[];
  state?: string;
  key?: string;
  metricsListen: string;
  scrapeAddress?: string;
  removeAtEnd: boolean;
}
