import { qosClass } from "@fjord/kube";
import type { IPod } from "kubernetes-models/v1/Pod";
import type { FieldError } from "../../field-error.ts";
import { forbiddenField } from "../../field-error.ts";
import { badRequest } from "../../status-error.ts";
import { defineResource } from "../kind.ts";
import { validateKubeFinalizers, validateObjectMetaUpdate } from "../object-meta.ts";
import type { Subresource } from "../resource-type.ts";
import { sameMeaning } from "../values/equality.ts";
import { bindPod } from "./binding.ts";
import { validateImageText } from "./containers.ts";
import { evictPod } from "./eviction.ts";
import { mergeLabelKeys } from "./label-keys.ts";
import { validatePodAnnotations } from "./pod-annotations.ts";
import { podColumns, podRowConditions } from "./pod-columns.ts";
import { setCondition } from "./pod-condition.ts";
import { alignServiceAccount, defaultPod, defaultPodSpec } from "./pod-defaults.ts";
import { validatePodSpec } from "./pod-spec.ts";
import { preparePodStatus, validatePodStatus } from "./pod-status.ts";
import { type Pod, validateEphemeralChange, validatePodChange, validateResize } from "./pod-update.ts";
import { podWarnings } from "./pod-warnings.ts";

export const pod = defineResource<IPod>({
  group: "",
  kind: "Pod",
  hasStatus: true,
  // A node is given once, and is no change of what was asked for.
  generation: (object, old) => !sameMeaning({ ...object.spec, nodeName: "" }, { ...old.spec, nodeName: "" }),
  default(object) {
    object.spec ??= { containers: [] };
    defaultPodSpec(object.spec);
    defaultPod(object.spec);
  },
  prepareCreate(object, { cluster }) {
    alignServiceAccount(object.spec ?? {});
    object.status = { phase: "Pending", qosClass: qosClass(object as never) };
    mergeLabelKeys(object);
    if ((object.spec?.schedulingGates ?? []).length === 0) return;
    const message = "Scheduling is blocked due to non-empty scheduling gates";
    const gated = { type: "PodScheduled", status: "False", reason: "SchedulingGated", message };
    setCondition(object, gated, cluster.clock.now());
  },
  prepareUpdate(object) {
    alignServiceAccount(object.spec ?? {});
  },
  validate(object) {
    const errors = validateWhole(object);
    if ((object.spec?.ephemeralContainers ?? []).length > 0) {
      errors.push(forbiddenField("spec.ephemeralContainers", "cannot be set on create"));
    }
    if (object.spec?.nodeName && (object.spec.schedulingGates ?? []).length > 0) {
      errors.push(forbiddenField("spec.nodeName", "cannot be set until all schedulingGates have been cleared"));
    }
    return errors;
  },
  validateUpdate: (object, old) => [...validateWhole(object), ...validatePodChange(object, old)],
  warnings: podWarnings,
  gracePeriod({ spec, status }, asked) {
    if (!spec?.nodeName || status?.phase === "Failed" || status?.phase === "Succeeded") return 0;
    const seconds = asked ?? spec.terminationGracePeriodSeconds ?? 0;
    return seconds < 0 ? 1 : seconds;
  },
  subresources: {
    status: changing(
      "status",
      ["get", "patch", "update"],
      (object, sent) => {
        const before = object.status;
        object.status = sent.status ?? {};
        preparePodStatus(object, before);
      },
      validatePodStatus,
    ),
    ephemeralcontainers: changing(
      "ephemeralcontainers",
      ["get", "patch", "update"],
      (object, sent) => {
        object.spec = { ...object.spec, ephemeralContainers: sent.spec?.ephemeralContainers ?? [] };
      },
      (object, old) => [...validateWhole(object), ...validateEphemeralChange(object, old)],
    ),
    resize: changing("resize", ["get", "patch", "update"], resize, (object, old) => [
      ...validateWhole(object),
      ...validateResize(object, old),
    ]),
    bind: changing(
      "bind",
      [],
      (object, sent) => {
        object.spec = { ...object.spec, ...(sent.spec?.nodeName && { nodeName: sent.spec.nodeName }) };
        object.status = sent.status ?? {};
      },
      () => [],
    ),
    binding: {
      type: "action",
      verbs: ["create"],
      act: ({ name, body, ...request }) => {
        if (body === undefined) throw badRequest("a Binding is needed");
        return bindPod(request, name, body);
      },
    },
    eviction: {
      type: "action",
      verbs: ["create"],
      kind: { group: "policy", version: "v1", kind: "Eviction" },
      act: ({ name, body, ...request }) => {
        if (body === undefined) throw badRequest("an Eviction is needed");
        return evictPod(request, name, body);
      },
    },
    log: { type: "connect", verbs: ["get"] },
    exec: { type: "connect", verbs: ["create", "get"] },
    attach: { type: "connect", verbs: ["create", "get"] },
    portforward: { type: "connect", verbs: ["create", "get"] },
    proxy: { type: "connect", verbs: ["create", "delete", "get", "patch", "update"] },
  },
  selectableFields: {
    "spec.nodeName": ({ spec }) => spec?.nodeName ?? "",
    "spec.restartPolicy": ({ spec }) => spec?.restartPolicy ?? "",
    "spec.schedulerName": ({ spec }) => spec?.schedulerName ?? "",
    "spec.serviceAccountName": ({ spec }) => spec?.serviceAccountName ?? "",
    "spec.hostNetwork": ({ spec }) => String(spec?.hostNetwork ?? false),
    "status.phase": ({ status }) => status?.phase ?? "",
    "status.podIP": ({ status }) => status?.podIPs?.[0]?.ip ?? status?.podIP ?? "",
    "status.podIPs": ({ status }) => status?.podIPs?.[0]?.ip ?? "",
    "status.nominatedNodeName": ({ status }) => status?.nominatedNodeName ?? "",
  },
  columns: podColumns,
  rowConditions: podRowConditions,
});

/** A view of the pod itself, with metadata's rules. */
function changing(
  _name: string,
  verbs: readonly string[],
  write: (object: Pod, sent: Pod) => void,
  validate: (object: Pod, old: Pod) => FieldError[],
): Subresource {
  return {
    type: "view",
    verbs,
    write: (object, sent) => write(object as Pod, sent as Pod),
    validate: (object, old) => [
      ...validateObjectMetaUpdate(object, old),
      ...validateKubeFinalizers(object.metadata.finalizers, "metadata.finalizers"),
      ...validate(object as Pod, old as Pod),
    ],
  };
}

function validateWhole({ metadata, spec = {} }: Pod): FieldError[] {
  const errors = [
    ...validatePodAnnotations(metadata.annotations, spec, "metadata.annotations"),
    ...validatePodSpec(spec, "spec", { name: metadata.name ?? "" }),
  ];
  if (!spec.serviceAccountName) {
    for (const [i, { projected }] of (spec.volumes ?? []).entries()) {
      for (const [j, { serviceAccountToken }] of (projected?.sources ?? []).entries()) {
        if (serviceAccountToken === undefined) continue;
        const path = `spec.volumes[${i}].projected.sources[${j}].serviceAccountToken`;
        errors.push(forbiddenField(path, "must not be specified when serviceAccountName is not set"));
      }
    }
  }
  for (const field of ["containers", "initContainers"] as const) {
    for (const [i, { image }] of (spec[field] ?? []).entries()) {
      errors.push(...validateImageText(image, `spec.${field}[${i}].image`));
    }
  }
  return errors;
}

/** Only sizes and how they may change; what does not fit one to one is left for validation to refuse. */
function resize(object: Pod, sent: Pod): void {
  const { spec: before = {} } = object;
  const { spec: wanted = {} } = sent;
  const spec = { ...before };
  for (const field of ["containers", "initContainers"] as const) {
    const now = wanted[field] ?? [];
    const old = before[field] ?? [];
    if (now.length !== old.length) {
      object.spec = wanted;
      return;
    }
    if (old.length === 0) continue;
    spec[field] = old.map((container, i) => {
      if (container.name !== now[i]?.name) return now[i] ?? container;
      return { ...container, resources: now[i]?.resources, resizePolicy: now[i]?.resizePolicy };
    });
  }
  object.spec = spec;
}
