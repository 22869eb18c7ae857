export type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
export { type Amount, type Amounts, added, amounts, amountText, count, quantityTexts } from "./amount.ts";
export { type DefaultPluginsOptions, defaultPlugins } from "./default-plugins.ts";
export { type QuotaEvaluator, quotaEvaluator, quotaMatches, scopesOf } from "./quota/quota-evaluator.ts";
