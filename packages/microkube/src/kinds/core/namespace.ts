import type { INamespace } from "kubernetes-models/v1/Namespace";
import type { FieldError } from "../../field-error.ts";
import { invalidField } from "../../field-error.ts";
import { columnsOf, text } from "../columns.ts";
import { type DraftObject, defineResource } from "../kind.ts";
import { validateKubeFinalizer, validateObjectMetaUpdate } from "../object-meta.ts";
import { qualifiedName } from "../values/label.ts";
import { dnsLabel } from "../values/name.ts";

const nameLabel = "kubernetes.io/metadata.name";
type Namespace = DraftObject<INamespace>;

export const namespace = defineResource<INamespace>({
  group: "",
  kind: "Namespace",
  nameRule: dnsLabel,
  hasStatus: true,
  default(object) {
    if (object.metadata.name) object.metadata.labels = { ...object.metadata.labels, [nameLabel]: object.metadata.name };
    object.status ??= {};
    object.status.phase ??= "Active";
  },
  prepareCreate(object) {
    // A generated name is known only now.
    object.metadata.labels = { ...object.metadata.labels, [nameLabel]: object.metadata.name ?? "" };
    object.status = { phase: "Active" };
    object.spec ??= {};
    object.spec.finalizers ??= [];
    if (!object.spec.finalizers.includes("kubernetes")) object.spec.finalizers.push("kubernetes");
  },
  prepareUpdate(object, old) {
    object.spec ??= {};
    if (old.spec?.finalizers === undefined) delete object.spec.finalizers;
    else object.spec.finalizers = old.spec.finalizers;
  },
  validate: (object) =>
    (object.spec?.finalizers ?? []).flatMap((one) => validateFinalizer(one ?? "", "spec.finalizers")),
  validateUpdate: () => [],
  validateStatus(object) {
    const wanted = object.metadata.deletionTimestamp === undefined ? "Active" : "Terminating";
    const phase = object.status?.phase ?? "";
    if (phase === wanted) return [];
    const when = wanted === "Active" ? "empty" : "not empty";
    return [invalidField("status.Phase", phase, `may only be '${wanted}' if \`deletionTimestamp\` is ${when}`)];
  },
  finalizers: (object) => ((object as Namespace).spec?.finalizers ?? []).map((one) => one ?? ""),
  prepareDelete(object) {
    (object as Namespace).status = { ...(object as Namespace).status, phase: "Terminating" };
  },
  subresources: {
    finalize: {
      type: "view",
      verbs: ["update"],
      write(object, sent) {
        (object as Namespace).spec = (sent as Namespace).spec ?? {};
      },
      validate: (object, old) => [
        ...validateObjectMetaUpdate(object, old),
        ...((object as Namespace).spec?.finalizers ?? []).flatMap((one, i) =>
          validateFinalizer(one ?? "", `spec.finalizers[${i}]`),
        ),
      ],
    },
  },
  selectableFields: { "status.phase": (object) => object.status?.phase ?? "" },
  columns: columnsOf<INamespace>(text("Status", ({ status }) => status?.phase ?? "")),
});

function validateFinalizer(finalizer: string, path: string): FieldError[] {
  return [
    ...qualifiedName(finalizer).map((text) => invalidField(path, finalizer, text)),
    ...validateKubeFinalizer(finalizer, path),
  ];
}
