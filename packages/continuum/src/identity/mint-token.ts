import { randomBytes } from "node:crypto";
import type { Clock } from "@fjord/base";
import { type KubeClient, Secret } from "@fjord/kube";
import type { SiteId } from "../site-identity.ts";
import { checkEndpoints } from "./endpoint.ts";
import { type PairingToken, writeToken } from "./pairing-token.ts";
import { newRecord } from "./token-record.ts";

const HOUR_MS = 3_600_000;
const SECRET_BYTES = 32;

export interface MintOptions {
  readonly client: Pick<KubeClient, "create">;
  /** The agent's. */
  readonly namespace: string;
  /** The issuing site. */
  readonly site: SiteId;
  readonly endpoints: readonly string[];
  readonly clock: Pick<Clock, "now">;
  /** @default 1 h */
  readonly ttlMs?: number;
  /** For whom it is, as a note to people. */
  readonly label?: string;
  readonly signal?: AbortSignal;
}

export interface MintedToken extends PairingToken {
  /** To hand over. It cannot be shown again: only its hash is kept. */
  readonly text: string;
  /** Name of the Secret that stands for it; deleting that takes the token back. */
  readonly record: string;
}

/** Makes a token that one other site can redeem once. Needs no key, only the right to create Secrets. */
export async function mintToken(options: MintOptions): Promise<MintedToken> {
  const { client, namespace, site, clock, ttlMs = HOUR_MS, label, signal } = options;
  const secret = randomBytes(SECRET_BYTES).toString("base64url");
  // Whole seconds, as the token has them.
  const expires = Math.floor((clock.now() + ttlMs) / 1000) * 1000;
  const token = { site, endpoints: checkEndpoints(options.endpoints), secret, expires };
  const record = newRecord(secret, namespace, expires, label);
  await client.create(Secret, record, { signal });
  return { ...token, text: writeToken(token), record: record.metadata.name ?? "" };
}
