import type { IAPIService } from "kubernetes-models/apiregistration.k8s.io/v1/APIService";
import type { FieldError } from "../../field-error.ts";
import { invalidField, required } from "../../field-error.ts";
import { columnsOf, text } from "../columns.ts";
import { type DraftObject, defineResource } from "../kind.ts";
import { dns1035Label, dnsSubdomain, pathSegment } from "../values/name.ts";
import { portNumberText } from "../values/port.ts";

type ApiService = DraftObject<IAPIService>;

export const apiService = defineResource<IAPIService>({
  group: "apiregistration.k8s.io",
  kind: "APIService",
  nameRule: pathSegment,
  hasStatus: true,
  unconditionalUpdate: false,
  default({ spec }) {
    if (spec?.service !== undefined) spec.service.port ??= 443;
  },
  prepareCreate(object, { cluster }) {
    object.status = {};
    // What this server has itself is there at once.
    if (object.spec?.service !== undefined) return;
    const time = `${new Date(cluster.clock.now()).toISOString().slice(0, 19)}Z`;
    object.status.conditions = [
      {
        type: "Available",
        status: "True",
        lastTransitionTime: time,
        reason: "Local",
        message: "Local APIServices are always available",
      },
    ];
  },
  validate,
  columns: columnsOf<IAPIService>(
    text("Service", ({ spec }) => (spec?.service ? `${spec.service.namespace}/${spec.service.name}` : "Local")),
    text("Available", ({ status }) => {
      const condition = status?.conditions?.find(({ type }) => type === "Available");
      if (condition === undefined) return "Unknown";
      return condition.status === "True" ? "True" : `${condition.status} (${condition.reason ?? ""})`;
    }),
  ),
});

function validate({ metadata, spec = {} }: ApiService): FieldError[] {
  const { group = "", version = "", groupPriorityMinimum: minimum = 0, versionPriority: priority = 0 } = spec;
  const errors: FieldError[] = [];
  const name = `${version}.${group}`;
  if (metadata.name !== name && !(group === "" && metadata.name === `${version}.`)) {
    errors.push(invalidField("metadata.name", metadata.name, `must be \`spec.version+"."+spec.group\`: "${name}"`));
  }
  if (group !== "") errors.push(...dnsSubdomain(group).map((one) => invalidField("spec.group", group, one)));
  errors.push(...dns1035Label(version).map((one) => invalidField("spec.version", version, one)));
  if (minimum <= 0 || minimum > 20000) {
    const why = "must be positive and less than 20000";
    errors.push(invalidField("spec.groupPriorityMinimum", minimum, why));
  }
  if (priority <= 0 || priority > 1000) {
    errors.push(invalidField("spec.versionPriority", priority, "must be positive and less than 1000"));
  }
  const { service, caBundle, insecureSkipTLSVerify } = spec;
  if (service === undefined) {
    if (caBundle)
      errors.push(
        invalidField("spec.caBundle", `${caBundle.length} bytes`, "local APIServices may not have a caBundle"),
      );
    return errors;
  }
  if (!service.namespace) errors.push(required("spec.service.namespace"));
  if (!service.name) errors.push(required("spec.service.name"));
  const { port = 443 } = service;
  if (port < 1 || port > 65535) {
    errors.push(invalidField("spec.service.port", port, `port is not valid: ${portNumberText}`));
  }
  if (caBundle && insecureSkipTLSVerify) {
    errors.push(invalidField("spec.insecureSkipTLSVerify", true, "may not be true if caBundle is present"));
  }
  return errors;
}
