import { createPublicKey } from "node:crypto";
import { isAlreadyExists, isNotFound, type KubeClient, Secret } from "@fjord/kube";
import { KeyProofs, newestKey, privateKeyObject } from "./key-proofs.ts";

/** The Secret that holds the site's WireGuard key. Whoever reads it can read what links carry. */
export const LINK_SECRET = "fjord-link";
const PRIVATE_KEY = "privateKey";
const PUBLIC_KEY = "publicKey";
/** On a Secret whose key was replaced. */
const MADE_AT = "fjord.dev/made-at";

type Client = Pick<KubeClient, "get" | "create">;

/** How long it is not looked again whether the key is still there: an API may be put back to before there was one. */
const CHECKED_MS = 5_000;

/** The site's key, once there is one: its public half, and what proves that the site has the other. */
export class LinkKey {
  readonly #client: Client;
  readonly #namespace: string;
  #publicKey: string | undefined;
  #privateKey: string | undefined;
  #checkedAt = Number.NEGATIVE_INFINITY;
  readonly #proofs = new KeyProofs();

  private constructor(client: Client, namespace: string, secret: Secret | undefined) {
    this.#client = client;
    this.#namespace = namespace;
    this.#take(secret);
  }

  static async load(client: Client, namespace: string, signal?: AbortSignal): Promise<LinkKey> {
    const secret = await found(client, namespace, signal);
    return new LinkKey(client, namespace, secret);
  }

  get publicKey(): string | undefined {
    return this.#publicKey;
  }

  /** Makes a key where there is none; of several that start at once, all get the same. */
  async ensure(signal?: AbortSignal): Promise<void> {
    const now = performance.now();
    if (now - this.#checkedAt < CHECKED_MS) return;
    const secret = this.#publicKey === undefined ? undefined : await found(this.#client, this.#namespace, signal);
    this.#take(secret ?? (await make(this.#client, this.#namespace, signal)));
    this.#checkedAt = now;
  }

  /** For what a peer with a Link is told: that this site has the newest of the keys that it is told of. */
  proven(
    told: { readonly publicKey: string; readonly nextKey?: string | undefined },
    peer: { readonly site: string; readonly publicKey: string; readonly nextKey?: string } | undefined,
    id: string,
  ): { readonly keyProof?: string } {
    if (peer === undefined) return {};
    if ((told.nextKey ?? told.publicKey) !== this.#publicKey) {
      // It was replaced, and an agent that does not lead has not looked. What fails now is tried the next time.
      this.ensure().catch(() => {});
      return {};
    }
    const keyProof = this.proof(newestKey(peer), id, peer.site);
    return keyProof === undefined ? {} : { keyProof };
  }

  /** What proves to whoever has another key that one site, to the other, has this one, or that other; see KeyProofs. Undefined where there is none. */
  proof(otherKey: string, from: string, to: string): string | undefined {
    return this.#privateKey === undefined ? undefined : this.#proofs.of(this.#privateKey, otherKey, from, to);
  }

  #take(secret: Secret | undefined): void {
    this.#publicKey = secret && publicKeyOf(secret);
    this.#privateKey = secret && privateKeyOf(secret);
  }
}

async function found(client: Client, namespace: string, signal?: AbortSignal): Promise<Secret | undefined> {
  return await client.get(Secret, { name: LINK_SECRET, namespace }, { signal }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    return undefined;
  });
}

async function make(client: Client, namespace: string, signal?: AbortSignal): Promise<Secret> {
  const { privateKey, publicKey } = await newKey();
  const secret: Secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: LINK_SECRET, namespace },
    type: "fjord.dev/link",
    data: { [PRIVATE_KEY]: encode(privateKey), [PUBLIC_KEY]: encode(publicKey) },
  };
  try {
    return await client.create(Secret, secret, { signal });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return await client.get(Secret, { name: LINK_SECRET, namespace }, { signal });
  }
}

/** Puts a new key into the place of the one that there is. The gateway uses it once peers that answer know it. */
export async function replaceLinkKey(
  client: Pick<KubeClient, "patch">,
  namespace: string,
  now: number,
  signal?: AbortSignal,
): Promise<string> {
  const { privateKey, publicKey } = await newKey();
  const patch = {
    metadata: { annotations: { [MADE_AT]: new Date(now).toISOString() } },
    data: { [PRIVATE_KEY]: encode(privateKey), [PUBLIC_KEY]: encode(publicKey) },
  };
  await client.patch(Secret, { name: LINK_SECRET, namespace }, "merge", patch, { signal });
  return publicKey;
}

/** Both halves in base64, as WireGuard writes them. */
async function newKey(): Promise<{ privateKey: string; publicKey: string }> {
  const { generateKeyPairSync } = await import("node:crypto");
  const pair = generateKeyPairSync("x25519");
  const { d = "", x = "" } = pair.privateKey.export({ format: "jwk" });
  const plain = (text: string) => Buffer.from(text, "base64url").toString("base64");
  return { privateKey: plain(d), publicKey: plain(x) };
}

function encode(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}

/** The private half, as WireGuard writes it. */
export function privateKeyOf({ data }: Secret): string {
  return Buffer.from(data?.[PRIVATE_KEY] ?? "", "base64").toString("utf8");
}

function publicKeyOf({ data }: Secret): string {
  return Buffer.from(data?.[PUBLIC_KEY] ?? "", "base64").toString("utf8");
}

/** The public half of a private one, both as WireGuard writes them. */
export function publicHalf(privateKey: string): string {
  const { x = "" } = createPublicKey(privateKeyObject(privateKey)).export({ format: "jwk" });
  return Buffer.from(x, "base64url").toString("base64");
}

/** When the key was made, in milliseconds since the epoch. */
export function keyMadeAtOf({ metadata }: Secret): number | undefined {
  const at = Date.parse(String(metadata.annotations?.[MADE_AT] ?? metadata.creationTimestamp ?? ""));
  return Number.isNaN(at) ? undefined : at;
}
