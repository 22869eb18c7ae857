import { OFFLOADED_LABEL } from "@fjord/api";
import type { MutatingWebhookConfiguration } from "@fjord/kube";

export interface WebhookConfigurationOptions {
  /** Where the own API server reaches the admission server: a base URL, or a Service. */
  readonly client: { readonly url: string } | { readonly service: { name: string; namespace: string; port: number } };
  /** PEM. */
  readonly ca: string;
}

export const WEBHOOK_CONFIGURATION = "fjord";

/** Asks this agent about new pods of offloaded namespaces, and about no others. */
export function webhookConfiguration({ client, ca }: WebhookConfigurationOptions): MutatingWebhookConfiguration {
  const caBundle = Buffer.from(ca).toString("base64");
  const target = (path: string) =>
    "url" in client ? { url: `${client.url}${path}`, caBundle } : { service: { ...client.service, path }, caBundle };
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: { name: WEBHOOK_CONFIGURATION, labels: { "app.kubernetes.io/name": "fjord" } },
    webhooks: [
      {
        name: "pods.fjord.dev",
        admissionReviewVersions: ["v1"],
        sideEffects: "None",
        // Without an answer a pod would land where its namespace does not allow it.
        failurePolicy: "Fail",
        timeoutSeconds: 5,
        reinvocationPolicy: "IfNeeded",
        clientConfig: target("/admission/pods"),
        namespaceSelector: { matchLabels: { [OFFLOADED_LABEL]: "true" } },
        rules: [
          { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"], scope: "Namespaced" },
        ],
      },
    ],
  };
}
