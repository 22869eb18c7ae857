import type { IMutatingWebhook } from "kubernetes-models/admissionregistration.k8s.io/v1/MutatingWebhook";
import type { IMutatingWebhookConfiguration } from "kubernetes-models/admissionregistration.k8s.io/v1/MutatingWebhookConfiguration";
import type { FieldError } from "../../field-error.ts";
import { duplicate, invalidField, notSupported, required } from "../../field-error.ts";
import { columnsOf, integer } from "../columns.ts";
import { type Draft, defineResource, type KindDefinition } from "../kind.ts";
import { type LabelSelector, validateLabelSelector } from "../values/label-selector.ts";
import { dns1035Label, dnsSubdomain } from "../values/name.ts";
import { portNumber } from "../values/port.ts";
import { validateOperationRule } from "./operation-rule.ts";

type Webhook = Draft<IMutatingWebhook>;
const group = "admissionregistration.k8s.io";

export const mutatingWebhookConfiguration = configuration("MutatingWebhookConfiguration", (webhook) => {
  webhook.reinvocationPolicy ??= "Never";
});
export const validatingWebhookConfiguration = configuration("ValidatingWebhookConfiguration", () => {});

function configuration(kind: string, fill: (webhook: Webhook) => void): KindDefinition {
  return defineResource<IMutatingWebhookConfiguration>({
    group,
    kind,
    generation: "content",
    default({ webhooks = [] }) {
      for (const webhook of webhooks) {
        webhook.failurePolicy ??= "Fail";
        webhook.matchPolicy ??= "Equivalent";
        webhook.namespaceSelector ??= {};
        webhook.objectSelector ??= {};
        webhook.timeoutSeconds ??= 10;
        fill(webhook);
        for (const rule of webhook.rules ?? []) rule.scope ??= "*";
        if (webhook.clientConfig?.service) webhook.clientConfig.service.port ??= 443;
      }
    },
    validate({ webhooks = [] }) {
      const names = new Set<string>();
      return webhooks.flatMap((webhook, i) => {
        const at = `webhooks[${i}]`;
        const errors = validateWebhook(webhook, kind, at);
        const { name = "" } = webhook;
        if (name !== "" && names.has(name)) errors.push(duplicate(`${at}.name`, name));
        names.add(name);
        return errors;
      });
    },
    columns: columnsOf<IMutatingWebhookConfiguration>(integer("Webhooks", ({ webhooks }) => (webhooks ?? []).length)),
  });
}

const effects = ["None", "NoneOnDryRun"];

function validateWebhook(webhook: Webhook, kind: string, at: string): FieldError[] {
  const {
    name = "",
    rules = [],
    failurePolicy,
    matchPolicy,
    reinvocationPolicy,
    sideEffects,
    timeoutSeconds,
  } = webhook;
  const errors = validateFullName(name, `${at}.name`);
  errors.push(...validateVersions(webhook.admissionReviewVersions, `${at}.admissionReviewVersions`));
  errors.push(...rules.flatMap((rule, i) => validateOperationRule(rule, `${at}.rules[${i}]`)));
  errors.push(...validateChoice(failurePolicy, ["Fail", "Ignore"], `${at}.failurePolicy`));
  errors.push(...validateChoice(matchPolicy, ["Equivalent", "Exact"], `${at}.matchPolicy`));
  if (sideEffects === undefined) {
    errors.push(required(`${at}.sideEffects`, "must specify one of None, NoneOnDryRun"));
  } else errors.push(...validateChoice(sideEffects, effects, `${at}.sideEffects`));
  if (timeoutSeconds !== undefined && (timeoutSeconds > 30 || timeoutSeconds < 1)) {
    const why = "the timeout value must be between 1 and 30 seconds";
    errors.push(invalidField(`${at}.timeoutSeconds`, timeoutSeconds, why));
  }
  if (kind.startsWith("Mutating")) {
    errors.push(...validateChoice(reinvocationPolicy, ["IfNeeded", "Never"], `${at}.reinvocationPolicy`));
  }
  errors.push(...validateLabelSelector(webhook.namespaceSelector as LabelSelector, `${at}.namespaceSelector`));
  errors.push(...validateLabelSelector(webhook.objectSelector as LabelSelector, `${at}.objectSelector`));
  return [...errors, ...validateClient(webhook.clientConfig ?? {}, `${at}.clientConfig`)];
}

function validateFullName(name: string, path: string): FieldError[] {
  if (name === "") return [required(path)];
  const wrong = dnsSubdomain(name).join(",");
  if (wrong !== "") return [invalidField(path, name, wrong)];
  if (name.split(".").length >= 3) return [];
  return [invalidField(path, name, "should be a domain with at least three segments separated by dots")];
}

function validateChoice(choice: string | undefined, known: readonly string[], path: string): FieldError[] {
  return choice === undefined || known.includes(choice) ? [] : [notSupported(path, choice, known)];
}

function validateVersions(versions: readonly (string | undefined)[] | undefined, path: string): FieldError[] {
  const list = (versions ?? []).map((one) => one ?? "");
  if (list.length === 0) return [required(path, "must specify one of v1, v1beta1")];
  const errors = list.flatMap((version, i) => {
    if (list.indexOf(version) < i) return [invalidField(`${path}[${i}]`, version, "duplicate version")];
    return dns1035Label(version).map((one) => invalidField(`${path}[${i}]`, version, one));
  });
  if (errors.length > 0 || list.includes("v1") || list.includes("v1beta1")) return errors;
  return [invalidField(path, list, "must include at least one of v1, v1beta1")];
}

function validateClient(client: NonNullable<Webhook["clientConfig"]>, path: string): FieldError[] {
  const { url, service } = client;
  if ((url === undefined) === (service === undefined)) {
    return [required(path, "exactly one of url or service is required")];
  }
  if (url !== undefined) return validateUrl(url, `${path}.url`);
  const errors: FieldError[] = [];
  if (!service?.name) errors.push(required(`${path}.service.name`));
  if (!service?.namespace) errors.push(required(`${path}.service.namespace`));
  const { port = 443 } = service ?? {};
  errors.push(
    ...portNumber(port).map((one) => invalidField(`${path}.service.port`, port, `port is not valid: ${one}`)),
  );
  return [...errors, ...validateServicePath(service?.path ?? "", `${path}.service.path`)];
}

function validateServicePath(target: string, path: string): FieldError[] {
  if (target === "" || target === "/") return [];
  if (target === "//") return [invalidField(path, target, "segment[0] may not be empty")];
  const errors = target.startsWith("/") ? [] : [invalidField(path, target, "must start with a '/'")];
  const segments = target.slice(1).replace(/\/$/, "").split("/");
  for (const [i, segment] of segments.entries()) {
    if (segment === "") errors.push(invalidField(path, target, `segment[${i}] may not be empty`));
    else errors.push(...dnsSubdomain(segment).map((one) => invalidField(path, target, `segment[${i}]: ${one}`)));
  }
  return errors;
}

function validateUrl(text: string, path: string): FieldError[] {
  const form = "; desired format: https://host[/path]";
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return [required(path, `url must be a valid URL: parse ${JSON.stringify(text)}: invalid URI${form}`)];
  }
  const errors: FieldError[] = [];
  if (url.protocol !== "https:") {
    errors.push(invalidField(path, url.protocol.slice(0, -1), `'https' is the only allowed URL scheme${form}`));
  }
  if (url.host === "") errors.push(invalidField(path, url.host, `host must be specified${form}`));
  if (url.username !== "")
    errors.push(invalidField(path, url.username, "user information is not permitted in the URL"));
  if (url.hash !== "") errors.push(invalidField(path, url.hash.slice(1), "fragments are not permitted in the URL"));
  if (url.search !== "") {
    errors.push(invalidField(path, url.search.slice(1), "query parameters are not permitted in the URL"));
  }
  return errors;
}
