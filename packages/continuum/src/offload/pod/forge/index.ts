export type { ForgeContext, PodPatch } from "./forge-context.ts";
export { offloadRefusals } from "./refusal.ts";
export {
  HOME_CA_CONFIG_MAP,
  usesHomeApi,
  type WantedToken,
  wantedTokens,
  wantsHomeAuthority,
} from "./service-account.ts";
export { FORGED_ANNOTATION, forgeShadowPod, ONLY_ONE_ANNOTATION, recreateWish } from "./shadow-pod-forge.ts";
