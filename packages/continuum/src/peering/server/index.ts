export { leaderOnly } from "./answers.ts";
export { defaultPeerLimits, type PeerLimits } from "./peer-limits.ts";
export { noPeerMetrics, type PeerMetrics } from "./peer-metrics.ts";
export { PeerServer, type PeerServerOptions } from "./peer-server.ts";
export { type SiteReportSources, siteRoute } from "./site-route.ts";
