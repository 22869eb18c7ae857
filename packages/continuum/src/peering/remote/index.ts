export { LiveRemoteSites, type LiveRemoteSitesOptions } from "./live-remote-sites.ts";
export { defaultRemoteTiming, type RemoteTiming } from "./remote.ts";
export { checkSiteReport } from "./report-check.ts";
export { SiteDirectory } from "./site-directory.ts";
