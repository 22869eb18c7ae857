import {
  BOTH_WAYS_ANNOTATION,
  REDEEM_LABEL,
  REDEEMED_ANNOTATION,
  REFUSED_ANNOTATION,
  SITE_NAME_ANNOTATION,
} from "@fjord/api";
import { parseToken, TokenWithoutEndpoints } from "@fjord/continuum/identity";
import { isNotFound, type KubeClient, Secret } from "@fjord/kube";
import { waitFor } from "./command-line/wait-for.ts";
import { PairingRefused } from "./errors.ts";

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
    return { done: false, progress: `pairing with ${site}` } as const;
  };
  try {
    await waitFor(client, Secret, key, look, { signal, timeoutMs, what: `there was no answer of ${site}`, told });
  } finally {
    await client.delete(Secret, key).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
  }
  if (name === "") throw new PairingRefused({ reason: refusal || "the request was deleted" });
  return name;
}
