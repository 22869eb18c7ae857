import { newObject, Site } from "@fjord/api";
import { ifNotFound, isAlreadyExists, type KubeClient } from "@fjord/kube";
import type { AgentOptions } from "./agent-options.ts";

export interface OwnSiteObject {
  readonly name: string;
  readonly id: string;
  /** What the site was called before, where it is called otherwise now. */
  readonly formerName?: string;
  readonly endpoints: readonly string[];
  readonly tier?: AgentOptions["tier"];
}

type Client = Pick<KubeClient, "list" | "create" | "delete" | "apply">;

/**
 * Makes the own Site say where and what it is; what its owner wrote there goes before what this process was started with.
 * A site that is called otherwise now keeps all that its owner said of it under its former name.
 */
export async function ensureOwnSite(client: Client, own: OwnSiteObject, signal?: AbortSignal): Promise<void> {
  await succeedFormer(client, own, signal);
  const { name, endpoints, tier } = own;
  if (endpoints.length === 0 && tier === undefined) return await create(client, name, {}, signal);
  const spec = { ...(endpoints.length > 0 && { endpoints: [...endpoints] }), ...(tier !== undefined && { tier }) };
  await client.apply(Site, { metadata: { name }, spec }, { fieldManager: "fjord-agent", signal });
}

/** Found by what the object says too, and not by the name alone: whoever renamed it may have died before coming here. */
async function succeedFormer(client: Client, { name, id, formerName }: OwnSiteObject, signal?: AbortSignal) {
  const { items } = await client.list(Site, { signal });
  const former = items.filter(
    ({ metadata, spec, status }) =>
      metadata.name !== name &&
      spec.id === undefined &&
      (metadata.name === formerName || (status?.role === "Self" && status.id === id)),
  );
  for (const site of former) {
    const key = { name: site.metadata.name ?? "" };
    await create(client, name, site.spec, signal);
    const preconditions = { uid: site.metadata.uid ?? "" };
    await client.delete(Site, key, { preconditions, signal }).catch(ifNotFound);
  }
}

/** Makes the own Site; one that is there is left as it is. */
async function create(client: Client, name: string, spec: Site["spec"] | object, signal?: AbortSignal): Promise<void> {
  const site = newObject(Site, { metadata: { name }, spec });
  await client.create(Site, site, { signal }).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
}
