export type { ApiResource, ApiSurface, Unanswered } from "./api-resource.ts";
export { Discovery, type DiscoveryOptions, type ServerVersion } from "./discovery.ts";
export { KindNotServed } from "./errors.ts";
export type { KindQuery } from "./lookup.ts";
