import type { Kind, KubeObject } from "@fjord/base";
import {
  ClusterRole,
  ClusterRoleBinding,
  CustomResourceDefinition,
  DaemonSet,
  Deployment,
  type KubeClient,
  Namespace,
  NetworkPolicy,
  Role,
  RoleBinding,
  Service,
  ServiceAccount,
} from "@fjord/kube";

export interface InstallOptions {
  readonly signal: AbortSignal;
  /** Told of each object that was applied. */
  readonly told: (line: string) => void;
}

const FIELD_MANAGER = "fjord-install";
const kinds: readonly Kind<KubeObject>[] = [
  CustomResourceDefinition,
  Namespace,
  ServiceAccount,
  ClusterRole,
  ClusterRoleBinding,
  Role,
  RoleBinding,
  NetworkPolicy,
  Service,
  Deployment,
  DaemonSet,
] as unknown as Kind<KubeObject>[];

/** Applies the objects in order, and returns once the server knows the kinds among them. Repeating it changes nothing. */
export async function installObjects(
  client: KubeClient,
  objects: readonly KubeObject[],
  { signal, told }: InstallOptions,
): Promise<void> {
  for (const object of objects) {
    const kind = kinds.find((each) => each.kind === object.kind);
    if (kind === undefined) throw new Error(`there is no way to install a ${object.kind}`);
    await client.apply(kind, object, { fieldManager: FIELD_MANAGER, force: true, signal });
    told(`${object.kind} ${object.metadata.name} applied`);
  }
  const names = objects
    .filter(({ kind }) => kind === CustomResourceDefinition.kind)
    .map(({ metadata }) => metadata.name);
  for (const name of names) await established(client, name ?? "", signal);
}

/** A kind is served a moment after its definition was taken. */
async function established(client: KubeClient, name: string, signal: AbortSignal): Promise<void> {
  for await (const event of client.watch(CustomResourceDefinition, {
    fieldSelector: `metadata.name=${name}`,
    signal,
  })) {
    if (event.type === "BOOKMARK" || event.type === "DELETED") continue;
    const { conditions = [] } = event.object.status ?? {};
    if (conditions.some(({ type, status }) => type === "Established" && status === "True")) return;
  }
}
