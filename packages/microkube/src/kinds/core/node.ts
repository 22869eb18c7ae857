import type { INode } from "kubernetes-models/v1/Node";
import type { ITaint } from "kubernetes-models/v1/Taint";
import type { FieldError } from "../../field-error.ts";
import { forbiddenField, invalidField } from "../../field-error.ts";
import { columnsOf, orNone, text, wide } from "../columns.ts";
import { type Draft, type DraftObject, defineResource } from "../kind.ts";
import { validateResourceAmount } from "../pod/resource-names.ts";
import { validateTaintEffect } from "../pod/toleration.ts";
import { sameMeaning } from "../values/equality.ts";
import { parseRange, validateCidr } from "../values/ip-address.ts";
import { labelValue, validateLabelName } from "../values/label.ts";

type Node = DraftObject<INode>;
const rolePrefix = "node-role.kubernetes.io/";

export const node = defineResource<INode>({
  group: "",
  kind: "Node",
  default(object) {
    const { spec, status } = object;
    if (status?.capacity !== undefined) status.allocatable ??= { ...status.capacity };
    if (spec === undefined) return;
    // One range is in two fields: the list is the newer one.
    if ((spec.podCIDRs ?? []).length > 0) spec.podCIDR ||= spec.podCIDRs?.[0] ?? "";
    else if (spec.podCIDR) spec.podCIDRs = [spec.podCIDR];
  },
  // A kubelet registers its node with a status; afterwards that is a matter of its own.
  prepareUpdate(object, old) {
    if (old.status === undefined) delete object.status;
    else object.status = structuredClone(old.status);
  },
  validate: validateNode,
  validateUpdate: (object, old) => [...validateNode(object), ...validateChange(object, old)],
  validateStatus: (object, old) => [...validateNode(object), ...validateChange(object, old)],
  subresources: { proxy: { type: "connect", verbs: ["create", "delete", "get", "patch", "update"] } },
  selectableFields: { "spec.unschedulable": ({ spec }) => String(spec?.unschedulable ?? false) },
  columns: [
    ...columnsOf<INode>(
      text("Status", (object) => statusText(object)),
      text("Roles", (object) => orNone(rolesOf(object).join(","))),
    ),
    text("Version", ({ status }) => status?.nodeInfo?.kubeletVersion ?? ""),
    wide(text("Internal-IP", (object) => addressOf(object, "InternalIP"))),
    wide(text("External-IP", (object) => addressOf(object, "ExternalIP"))),
    wide(text("OS-Image", ({ status }) => status?.nodeInfo?.osImage || "<unknown>")),
    wide(
      text("Kernel-Version", ({ status }) => {
        const { kernelVersion, architecture } = status?.nodeInfo ?? {};
        return `${kernelVersion || "<unknown>"}${architecture ? ` (${architecture})` : ""}`;
      }),
    ),
    wide(text("Container-Runtime", ({ status }) => status?.nodeInfo?.containerRuntimeVersion || "<unknown>")),
  ],
});

function validateNode({ spec, status }: Node): FieldError[] {
  const errors = validateTaints(spec?.taints ?? [], "metadata.taints");
  for (const field of ["capacity", "allocatable"] as const) {
    for (const [name, quantity] of Object.entries(status?.[field] ?? {})) {
      errors.push(...validateResourceAmount(name, String(quantity), `status.${field}.${name}`));
    }
  }
  const ranges = spec?.podCIDRs ?? [];
  errors.push(...ranges.flatMap((range, i) => validateCidr(range, `spec.podCIDRs[${i}]`)));
  const families = new Set(ranges.map((range) => parseRange(range ?? "")?.family));
  if (ranges.length > 1 && families.size !== ranges.length) {
    errors.push(invalidField("spec.podCIDRs", ranges, "may specify no more than one CIDR for each IP family"));
  }
  return errors;
}

function validateTaints(taints: readonly Draft<ITaint>[], path: string): FieldError[] {
  const seen = new Set<string>();
  return taints.flatMap(({ key = "", value = "", effect = "", timeAdded }, i) => {
    const at = `${path}[${i}]`;
    const errors = validateLabelName(key, `${at}.key`);
    const texts = labelValue(value);
    if (texts.length > 0) errors.push(invalidField(`${at}.value`, value, texts.join(";")));
    errors.push(...validateTaintEffect(effect, `${at}.effect`));
    if (seen.has(`${key}:${effect}`)) {
      const taint = { Key: key, Value: value, Effect: effect, TimeAdded: timeAdded ?? null };
      const detail = "taints must be unique by key and effect pair";
      errors.push({ type: "FieldValueDuplicate", field: at, value: taint, detail });
    }
    seen.add(`${key}:${effect}`);
    return errors;
  });
}

function validateChange({ spec = {}, status }: Node, { spec: before = {} }: Node): FieldError[] {
  const errors: FieldError[] = [];
  const addresses = new Set<string>();
  for (const [i, { type, address }] of (status?.addresses ?? []).entries()) {
    const key = `${type}/${address}`;
    if (addresses.has(key)) {
      const value = { Type: type, Address: address };
      errors.push({ type: "FieldValueDuplicate", field: `status.addresses[${i}]`, value, detail: "" });
    }
    addresses.add(key);
  }
  const kept = 'except from "" to valid';
  if ((before.podCIDRs ?? []).length > 0 && !sameMeaning(spec.podCIDRs, before.podCIDRs)) {
    errors.push(forbiddenField("spec.podCIDRs", `node updates may not change podCIDR ${kept}`));
  }
  if (before.providerID && before.providerID !== spec.providerID) {
    errors.push(forbiddenField("spec.providerID", `node updates may not change providerID ${kept}`));
  }
  return errors;
}

function statusText({ spec, status }: Node): string {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const text = ready === undefined ? "Unknown" : ready.status === "True" ? "Ready" : "NotReady";
  return spec?.unschedulable ? `${text},SchedulingDisabled` : text;
}

function rolesOf({ metadata }: Node): string[] {
  const roles = Object.entries(metadata.labels ?? {}).flatMap(([key, value]) => {
    if (key.startsWith(rolePrefix)) return [key.slice(rolePrefix.length)];
    return key === "kubernetes.io/role" ? [value] : [];
  });
  return [...new Set(roles)].filter((role) => role !== "").sort();
}

function addressOf({ status }: Node, wanted: string): string {
  return status?.addresses?.find(({ type }) => type === wanted)?.address ?? "<none>";
}
