export { ExportController } from "./export-controller.ts";
export { HeardNetworks } from "./heard-networks.ts";
export { ImportController, type ImportControllerOptions } from "./import-controller.ts";
export { KnownAddresses } from "./known-addresses.ts";
export { LinkKey } from "./link-key.ts";
export { NetworkController, type NetworkControllerOptions } from "./network-controller.ts";
export { checkNetworkFacts } from "./network-facts.ts";
export { serviceRanges } from "./service-ranges.ts";
export { ToldNetwork } from "./told-network.ts";
