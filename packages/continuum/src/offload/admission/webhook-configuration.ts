import { group, OFFLOADED_LABEL, VIRTUAL_NODE } from "@fjord/api";
import { ifNotFound, type KubeClient, MutatingWebhookConfiguration } from "@fjord/kube";
import { ADMISSION_QUESTION_LABEL } from "./admission-question.ts";
import { QUESTION_LABEL } from "./label-question.ts";

export interface WebhookConfigurationOptions {
  /** Where the own API server reaches the admission server: a base URL, or a Service. */
  readonly client: { readonly url: string } | { readonly service: { name: string; namespace: string; port: number } };
  /** PEM: whoever shows one of these certificates is believed. */
  readonly ca: string;
}

export const WEBHOOK_CONFIGURATION = "fjord";

type Webhook = NonNullable<MutatingWebhookConfiguration["webhooks"]>[number];
type Operation = "CREATE" | "UPDATE" | "DELETE";

/** CEL: whether the pod tolerates virtual nodes by name. */
const tolerated = (pod: string) =>
  `(has(${pod}.spec.tolerations) && ${pod}.spec.tolerations.exists(t, has(t.key) && t.key == '${VIRTUAL_NODE}'))`;

/** What is asked for at which path. Everything that an API server would fill in is here, so that both can be compared. */
const webhooks: Readonly<Record<string, (caller: (path: string) => Webhook["clientConfig"]) => Webhook>> = {
  pods: (caller) => ({
    ...ask("pods", "/admission/pods", caller, { apiGroups: [""], resources: ["pods"], operations: ["CREATE"] }),
    // Without an answer a pod would land where its namespace does not allow it.
    failurePolicy: "Fail",
    reinvocationPolicy: "IfNeeded",
    namespaceSelector: { matchLabels: { [OFFLOADED_LABEL]: "true" } },
  }),
  placedPods: (caller) => ({
    ...ask("placed-pods", "/admission/placed-pods", caller, {
      apiGroups: [""],
      resources: ["pods"],
      operations: ["UPDATE"],
    }),
    timeoutSeconds: 2,
    namespaceSelector: { matchLabels: { [OFFLOADED_LABEL]: "true" } },
    // Pods are changed all the time, and hardly ever in this.
    matchConditions: [
      { name: "takes-toleration-away", expression: `${tolerated("oldObject")} && !${tolerated("object")}` },
    ],
  }),
  namespaces: (caller) => ({
    ...ask("namespaces", "/admission/namespaces", caller, {
      apiGroups: [""],
      resources: ["namespaces"],
      operations: ["CREATE", "UPDATE"],
      scope: "Cluster",
    }),
    reinvocationPolicy: "IfNeeded",
    timeoutSeconds: 2,
  }),
  offloadings: (caller) => ({
    ...ask("offloadings", "/admission/offloadings", caller, {
      apiGroups: [group],
      apiVersions: ["*"],
      resources: ["offloadings"],
      operations: ["CREATE", "UPDATE", "DELETE"],
    }),
    sideEffects: "NoneOnDryRun",
  }),
  labelQuestions: (caller) => ({
    ...ask("label-questions", "/admission/label-questions", caller, {
      apiGroups: [group],
      apiVersions: ["*"],
      resources: ["offloadings"],
      operations: ["CREATE"],
    }),
    timeoutSeconds: 2,
    namespaceSelector: { matchLabels: { [OFFLOADED_LABEL]: "true" } },
    objectSelector: { matchLabels: { [QUESTION_LABEL]: "true" } },
  }),
  admissionQuestions: (caller) => ({
    ...ask("admission-questions", "/admission/label-questions", caller, {
      apiGroups: [group],
      apiVersions: ["*"],
      resources: ["offloadings"],
      operations: ["CREATE"],
    }),
    // That nobody could be asked tells as much.
    failurePolicy: "Fail",
    timeoutSeconds: 2,
    objectSelector: { matchLabels: { [ADMISSION_QUESTION_LABEL]: "true" } },
  }),
  rules: (caller) =>
    ask("offloadingrules", "/admission/rules", caller, {
      apiGroups: [group],
      apiVersions: ["*"],
      resources: ["offloadingrules"],
      operations: ["CREATE", "UPDATE", "DELETE"],
      scope: "Cluster",
    }),
  daemonSets: (caller) => ({
    ...ask("daemonsets", "/admission/daemonsets", caller, {
      apiGroups: ["apps"],
      resources: ["daemonsets"],
      operations: ["CREATE", "UPDATE"],
    }),
    reinvocationPolicy: "IfNeeded",
    timeoutSeconds: 2,
  }),
};

/** Asks this agent about new pods of offloaded namespaces and no others, and about what makes a namespace one. */
export function webhookConfiguration({ client, ca }: WebhookConfigurationOptions): MutatingWebhookConfiguration {
  const caBundle = Buffer.from(ca).toString("base64");
  const caller = (path: string) =>
    "url" in client ? { url: `${client.url}${path}`, caBundle } : { service: { ...client.service, path }, caBundle };
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: { name: WEBHOOK_CONFIGURATION, labels: { "app.kubernetes.io/name": "fjord" } },
    webhooks: Object.values(webhooks).map((webhook) => webhook(caller)),
  };
}

/** Takes the configuration away, so that the cluster is no longer stopped by an agent that is no more. */
export async function removeWebhookConfiguration(client: KubeClient, signal?: AbortSignal): Promise<void> {
  const options = signal === undefined ? {} : { signal };
  await client.delete(MutatingWebhookConfiguration, { name: WEBHOOK_CONFIGURATION }, options).catch(ifNotFound);
}

interface Rule {
  readonly apiGroups: string[];
  readonly apiVersions?: string[];
  readonly resources: string[];
  readonly operations: Operation[];
  readonly scope?: "Cluster" | "Namespaced";
}

function ask(name: string, path: string, caller: (path: string) => Webhook["clientConfig"], rule: Rule): Webhook {
  return {
    name: `${name}.fjord.dev`,
    admissionReviewVersions: ["v1"],
    sideEffects: "None",
    // What is missed here is repaired by controllers: an agent that is away stops nobody.
    failurePolicy: "Ignore",
    matchPolicy: "Equivalent",
    reinvocationPolicy: "Never",
    timeoutSeconds: 5,
    namespaceSelector: {},
    objectSelector: {},
    clientConfig: caller(path),
    rules: [{ apiVersions: ["v1"], scope: "Namespaced", ...rule }],
  };
}
