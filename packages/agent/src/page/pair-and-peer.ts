import {
  BOTH_WAYS_ANNOTATION,
  newObject,
  Peering,
  REDEEM_LABEL,
  REDEEMED_ANNOTATION,
  REFUSED_ANNOTATION,
  TRIED_ANNOTATION,
} from "@fjord/api";
import { parseToken } from "@fjord/continuum/identity";
import { ifNotFound, type KubeClient, Secret } from "@fjord/kube";
import { ActionRefused } from "./errors.ts";

export interface PeerWish {
  readonly token: string;
  readonly resources: Readonly<Record<string, string>>;
  readonly bothWays: boolean;
  /** Where the agent keeps its own objects. */
  readonly namespace: string;
}

const PATIENCE_MS = 20_000;

/** Has the agent redeem a pairing token, and asks for a slice of the site that it is of. Gives that site's name. */
export async function pairAndPeer(client: KubeClient, wish: PeerWish, signal: AbortSignal): Promise<string> {
  const site = await pair(client, wish, AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]));
  const object = newObject(Peering, { metadata: { name: site }, spec: { site, resources: { ...wish.resources } } });
  await client.create(Peering, object, { fieldManager: "fjord-page", signal });
  return site;
}

async function pair(
  client: KubeClient,
  { token, namespace, bothWays }: PeerWish,
  signal: AbortSignal,
): Promise<string> {
  parseToken(token);
  const annotations: Record<string, string> = bothWays ? { [BOTH_WAYS_ANNOTATION]: "true" } : {};
  const metadata = { generateName: "fjord-redeem-", namespace, labels: { [REDEEM_LABEL]: "true" }, annotations };
  const secret = await client.create(
    Secret,
    { apiVersion: "v1", kind: "Secret", metadata, stringData: { token } },
    { fieldManager: "fjord-page", signal },
  );
  const key = { name: secret.metadata.name ?? "", namespace };
  try {
    return await answerTo(client, key, signal);
  } finally {
    await client.delete(Secret, key).catch(ifNotFound);
  }
}

async function answerTo(
  client: KubeClient,
  key: { name: string; namespace: string },
  signal: AbortSignal,
): Promise<string> {
  const refused = (reason: string) => new ActionRefused({ action: "pair", reason });
  let tried = "";
  try {
    const events = client.watch(Secret, {
      namespace: key.namespace,
      fieldSelector: `metadata.name=${key.name}`,
      signal,
    });
    for await (const event of events) {
      if (event.type === "BOOKMARK") continue;
      if (event.type === "DELETED") throw refused("the request was deleted");
      const { annotations = {} } = event.object.metadata;
      const name = annotations[REDEEMED_ANNOTATION];
      if (name !== undefined && name !== "") return name;
      const refusal = annotations[REFUSED_ANNOTATION];
      if (refusal !== undefined && refusal !== "") throw refused(refusal);
      tried = annotations[TRIED_ANNOTATION] ?? tried;
    }
  } catch (error) {
    if (signal.aborted) throw refused(`the other site has not answered in time${tried && `: ${tried}`}`);
    throw error;
  }
  throw refused("the API ended the watch; try again");
}
