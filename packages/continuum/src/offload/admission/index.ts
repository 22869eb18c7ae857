export { AdmissionServer, type AdmissionServerOptions } from "./admission-server.ts";
export { PodAdmission } from "./pod-admission.ts";
export {
  WEBHOOK_CONFIGURATION,
  type WebhookConfigurationOptions,
  webhookConfiguration,
} from "./webhook-configuration.ts";
