export { CaptureAccess } from "./capture-access.ts";
export { type InstallOptions, installObjects } from "./installation/install-objects.ts";
export { defaultValues, type InstallValues } from "./installation/install-values.ts";
export { installation } from "./installation/installation.ts";
export {
  CAPTURE_NAME,
  FOLLOWER_NAME,
  followerRights,
  GATEWAY_NAME,
  gatewayRights,
} from "./installation/link-rights.ts";
export { AGENT_NAME, type ManifestOptions, manifests } from "./installation/manifests.ts";
export { readValues } from "./installation/values-schema.ts";
export type { PageSettings } from "./page/page-options.ts";
export { FJORD_VERSION } from "./version.ts";
