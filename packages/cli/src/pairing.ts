import {
  BOTH_WAYS_ANNOTATION,
  REDEEM_LABEL,
  REDEEMED_ANNOTATION,
  REFUSED_ANNOTATION,
  SITE_NAME_ANNOTATION,
  Site,
  TRIED_ANNOTATION,
} from "@fjord/api";
import { parseToken, TokenOfOwnSite, TokenWithoutEndpoints } from "@fjord/continuum/identity";
import { ifNotFound, type KubeClient, Secret } from "@fjord/kube";
import { listOrExplain } from "./command-line/list-or-explain.ts";
import { waitFor } from "./command-line/wait-for.ts";
import { PairingRefused, PairingUnanswered } from "./errors.ts";

export interface PairOptions {
  /** The agent's. */
  readonly namespace: string;
  /** What the other site is to be called here. */
  readonly siteName?: string;
  readonly bothWays: boolean;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly told: (line: string) => void;
}

/** Site names have no dots, tokens have one. */
export function isToken(text: string): boolean {
  return text.includes(".");
}

/** Has the agent redeem a token, and gives the name of the other site's Site object. */
export async function pairBy(client: KubeClient, token: string, options: PairOptions): Promise<string> {
  const { namespace, siteName, bothWays, timeoutMs, signal, told } = options;
  const { site, endpoints } = parseToken(token);
  // The agent would say so too, but not what to do instead.
  if (endpoints.length === 0) throw new TokenWithoutEndpoints({ site });
  const sites = await listOrExplain(client, Site, signal);
  if (sites.some(({ status }) => status?.role === "Self" && status.id === site)) throw new TokenOfOwnSite({});
  const annotations = {
    ...(bothWays && { [BOTH_WAYS_ANNOTATION]: "true" }),
    ...(siteName !== undefined && { [SITE_NAME_ANNOTATION]: siteName }),
  };
  const secret = await client.create(
    Secret,
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { generateName: "fjord-redeem-", namespace, labels: { [REDEEM_LABEL]: "true" }, annotations },
      stringData: { token },
    },
    { fieldManager: "fjord-cli", signal },
  );
  const key = { name: secret.metadata.name ?? "", namespace };
  let name = "";
  let refusal = "";
  const look = (found: Secret | undefined) => {
    name = found?.metadata.annotations?.[REDEEMED_ANNOTATION] ?? "";
    refusal = found?.metadata.annotations?.[REFUSED_ANNOTATION] ?? "";
    if (found === undefined || name !== "" || refusal !== "") return { done: true } as const;
    const tried = found.metadata.annotations?.[TRIED_ANNOTATION];
    return { done: false, progress: tried ?? `pairing with ${site}` } as const;
  };
  try {
    const what = `there was no answer of ${site}`;
    const late = (seconds: number, last: string) => new PairingUnanswered({ site, seconds, last });
    await waitFor(client, Secret, key, look, { signal, timeoutMs, what, told, late });
  } finally {
    await client.delete(Secret, key).catch(ifNotFound);
  }
  if (name === "") throw new PairingRefused({ reason: refusal || "the request was deleted" });
  return name;
}
