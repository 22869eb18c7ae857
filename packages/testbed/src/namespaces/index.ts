export { EchoPod, type Heard, type Question } from "./echo-pod.ts";
export { type NamespaceSite, namespaceSites, POD_RANGES } from "./namespace-sites.ts";
export { namespaceUdp } from "./namespace-udp.ts";
export { NetworkNamespaces } from "./network-namespaces.ts";
export { type Mapping, Router, type RouterOptions } from "./router.ts";
export { wireguardKeys } from "./wireguard-keys.ts";
