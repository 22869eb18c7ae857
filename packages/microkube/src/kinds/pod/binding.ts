import type { KubeObject } from "@fjord/base";
import type { FieldError } from "../../field-error.ts";
import { describeFieldError, notSupported, required } from "../../field-error.ts";
import { badRequest, conflict, notFound, type StatusError } from "../../status-error.ts";
import type { WriteContext } from "../resource-type.ts";
import { setCondition } from "./pod-condition.ts";
import type { Pod } from "./pod-update.ts";

interface Binding extends KubeObject {
  target?: { kind?: string; name?: string };
}

export const success = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 };

/** Gives a pod its node, once and for all. Of the view `bind`, which nobody reaches from outside. */
export async function bindPod(request: WriteContext, name: string, body: KubeObject): Promise<KubeObject> {
  const { target, metadata } = body as Binding;
  if (metadata.name !== name) throw badRequest("name in URL does not match name in Binding object");
  const errors = validateTarget(target ?? {});
  if (errors.length > 0) throw badRequest(errorText(errors));
  const { cluster, namespace, caller, dryRun } = request;
  const type = cluster.types.ofKind("", "Pod");
  if (type === undefined) throw notFound({ group: "", plural: "pods" }, name);
  const refuse = (why: string) => conflict({ group: "", plural: "pods/binding" }, name, why);
  const bound = await cluster.modify(
    type,
    namespace,
    name,
    (object) => {
      const pod = object as Pod & KubeObject;
      const { spec = {} } = pod;
      checkPreconditions(metadata, pod, refuse);
      if (pod.metadata.deletionTimestamp !== undefined) {
        throw refuse(`pod ${name} is being deleted, cannot be assigned to a host`);
      }
      if (spec.nodeName) throw refuse(`pod ${name} is already assigned to node "${spec.nodeName}"`);
      if ((spec.schedulingGates ?? []).length > 0) throw refuse(`pod ${name} has non-empty .spec.schedulingGates`);
      spec.nodeName = target?.name ?? "";
      delete pod.status?.nominatedNodeName;
      if (metadata.annotations) pod.metadata.annotations = { ...pod.metadata.annotations, ...metadata.annotations };
      if (metadata.labels) pod.metadata.labels = { ...pod.metadata.labels, ...metadata.labels };
      setCondition(pod, { type: "PodScheduled", status: "True" }, cluster.clock.now());
      return pod as KubeObject;
    },
    { subresource: "bind", caller, dryRun, ownsNothing: true },
  );
  if (bound === undefined) throw notFound(type, name);
  return success;
}

function checkPreconditions(
  { uid, resourceVersion }: KubeObject["metadata"],
  pod: Pod,
  refuse: (why: string) => StatusError,
): void {
  if (uid && uid !== pod.metadata.uid) {
    throw refuse(`Precondition failed: UID in precondition: ${uid}, UID in object meta: ${pod.metadata.uid}`);
  }
  if (resourceVersion && resourceVersion !== pod.metadata.resourceVersion) {
    const now = pod.metadata.resourceVersion;
    throw refuse(
      `Precondition failed: ResourceVersion in precondition: ${resourceVersion}, ResourceVersion in object meta: ${now}`,
    );
  }
}

function validateTarget({ kind, name }: { kind?: string; name?: string }): FieldError[] {
  const errors: FieldError[] = [];
  if (kind && kind !== "Node") errors.push(notSupported("target.kind", kind, ["Node", "<empty>"]));
  if (!name) errors.push(required("target.name"));
  return errors;
}

function errorText(errors: readonly FieldError[]): string {
  const texts = errors.map(describeFieldError);
  return texts.length === 1 ? (texts[0] as string) : `[${texts.join(", ")}]`;
}
