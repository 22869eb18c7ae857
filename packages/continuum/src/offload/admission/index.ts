export { AdmissionConfiguration, type AdmissionConfigurationOptions } from "./admission-configuration.ts";
export { admissionInForce } from "./admission-question.ts";
export { type AdmissionReviews, admissionReviews } from "./admission-reviews.ts";
export { AdmissionServer, type AdmissionServerOptions } from "./admission-server.ts";
export { loadChain } from "./certificate-secret.ts";
export { isStrayDaemonPod } from "./daemon-placement.ts";
export { KnownOffloadings } from "./known-offloadings.ts";
export { isMade } from "./pod-placement.ts";
export { addressesVirtualNodes } from "./tolerations.ts";
export {
  removeWebhookConfiguration,
  WEBHOOK_CONFIGURATION,
  type WebhookConfigurationOptions,
  webhookConfiguration,
} from "./webhook-configuration.ts";
