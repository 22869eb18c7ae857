export { HOME_CA_CONFIG_MAP, usesHomeApi } from "./forge/index.ts";
export { PodOffloader, type PodOffloaderOptions } from "./pod-offloader.ts";
export { OFFLOADED_CONDITION } from "./status/index.ts";
