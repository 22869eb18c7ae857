export { EchoPod, type Heard, type Question } from "./echo-pod.ts";
export { type NamespaceSite, namespaceSites, POD_RANGES } from "./namespace-sites.ts";
export { NetworkNamespaces } from "./network-namespaces.ts";
export { wireguardKeys } from "./wireguard-keys.ts";
