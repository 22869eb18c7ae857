export type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
export { type Amount, type Amounts, added, amounts, amountText, count, quantityTexts } from "./amount.ts";
export { type DefaultPluginsOptions, defaultPlugins } from "./default-plugins.ts";
export { type QuotaEvaluator, quotaEvaluator, quotaMatches, scopesOf } from "./quota/quota-evaluator.ts";
export { ResourceQuotaPlugin } from "./quota/resource-quota.ts";
export { type ClientConfig, WebhookClient, type WebhookClientOptions } from "./webhooks/webhook-client.ts";
export { ruleMatches, selectsNamespace, selectsObject } from "./webhooks/webhook-match.ts";
export { WebhookPlugins, type WebhookPluginsOptions } from "./webhooks/webhook-plugins.ts";
