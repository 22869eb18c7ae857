export * from "./dns/cached-names.ts";
export * from "./dns/dns-server.ts";
export * from "./errors.ts";
export * from "./nftables-proxy.ts";
export * from "./service-parts.ts";
export * from "./service-plan.ts";
export * from "./service-proxy.ts";
export * from "./userspace-proxy.ts";
