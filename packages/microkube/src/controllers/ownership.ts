import { apiVersionOf, type Kind, type KubeObject, type OwnerReference } from "@fjord/base";
import { controllerOf, parseApiVersion } from "@fjord/kube";

/** The reference by which an object says who controls it. */
export function controllerReference(kind: Kind, { metadata }: KubeObject): OwnerReference {
  return {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    name: metadata.name ?? "",
    uid: metadata.uid ?? "",
    controller: true,
    blockOwnerDeletion: true,
  };
}

export function controllerReferenceOf({ metadata }: KubeObject): OwnerReference | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true);
}

export function isControlledBy(object: KubeObject, owner: KubeObject): boolean {
  const uid = controllerReferenceOf(object)?.uid;
  return uid !== undefined && uid === owner.metadata.uid;
}

/** Whether a reference is to an object of that kind, in whatever version. */
export function refersTo({ apiVersion, kind: name }: OwnerReference, kind: Kind): boolean {
  return name === kind.kind && parseApiVersion(apiVersion).group === kind.group;
}

/** By the uid of the controller; those without one by `orphansOf` their namespace. */
export function byController(object: KubeObject): readonly string[] {
  const reference = controllerReferenceOf(object);
  return [reference?.uid ?? orphansOf(object.metadata.namespace)];
}

/** No uid has a colon in it. */
export function orphansOf(namespace = ""): string {
  return `orphans:${namespace}`;
}

/** The index that every cache of owned objects has. */
export const controllerIndex = { controller: byController } as const;

export { controllerOf };
