export * from "./errors.ts";
export { OwnSite, type OwnSiteOptions } from "./own-site.ts";
export type { Redeem } from "./pairing.ts";
export { PEERING_FINALIZER, PeeringController, type PeeringControllerOptions } from "./peering-controller.ts";
export { SITE_FINALIZER, SiteController, type SiteControllerOptions } from "./site-controller.ts";
export { sanePublished } from "./site-status.ts";
