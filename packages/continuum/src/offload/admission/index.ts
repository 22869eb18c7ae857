export { AdmissionConfiguration, type AdmissionConfigurationOptions } from "./admission-configuration.ts";
export { type AdmissionReviews, admissionReviews } from "./admission-reviews.ts";
export { AdmissionServer, type AdmissionServerOptions } from "./admission-server.ts";
export { loadChain } from "./certificate-secret.ts";
export { isStrayDaemonPod } from "./daemon-placement.ts";
export {
  removeWebhookConfiguration,
  WEBHOOK_CONFIGURATION,
  type WebhookConfigurationOptions,
  webhookConfiguration,
} from "./webhook-configuration.ts";
