export { defaultRemoteTiming, type RemoteTiming } from "./heartbeat.ts";
export { LiveRemoteSites, type LiveRemoteSitesOptions } from "./live-remote-sites.ts";
export { checkSiteReport } from "./report-check.ts";
export { SiteDirectory } from "./site-directory.ts";
