export { type InstallOptions, installObjects } from "./installation/install-objects.ts";
export { AGENT_NAME, type ManifestOptions, manifests } from "./installation/manifests.ts";
export type { PageSettings } from "./page/page-options.ts";
