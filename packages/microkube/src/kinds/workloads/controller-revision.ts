import type { IControllerRevision } from "kubernetes-models/apps/v1/ControllerRevision";
import { required } from "../../field-error.ts";
import { columnsOf, text } from "../columns.ts";
import { defineResource } from "../kind.ts";
import { immutable } from "../values/equality.ts";
import { nonNegative } from "../values/number.ts";

const groups: Readonly<Record<string, string>> = { DaemonSet: ".apps", StatefulSet: ".apps", Deployment: ".apps" };

export const controllerRevision = defineResource<IControllerRevision>({
  group: "apps",
  kind: "ControllerRevision",
  validate: ({ revision, data }) => [
    ...nonNegative(revision, "revision"),
    ...(data === undefined ? [required("data", "data is mandatory")] : []),
  ],
  validateUpdate: ({ revision, data }, old) => [
    ...nonNegative(revision, "revision"),
    ...immutable(data, old.data, "data"),
  ],
  columns: columnsOf<IControllerRevision>(
    text("Controller", ({ metadata }) => {
      const owner = metadata.ownerReferences?.find(({ controller }) => controller);
      if (owner === undefined) return "<none>";
      const group = owner.apiVersion.includes("/") ? `.${owner.apiVersion.split("/")[0]}` : (groups[owner.kind] ?? "");
      return `${owner.kind.toLowerCase()}${group}/${owner.name}`;
    }),
    text("Revision", ({ revision }) => revision ?? 0),
  ),
});
