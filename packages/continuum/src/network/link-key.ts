import { createPrivateKey, createPublicKey } from "node:crypto";
import { isAlreadyExists, isNotFound, type KubeClient, Secret } from "@fjord/kube";

/** The Secret that holds the site's WireGuard key. Whoever reads it can read what links carry. */
export const LINK_SECRET = "fjord-link";
const PRIVATE_KEY = "privateKey";
const PUBLIC_KEY = "publicKey";
/** On a Secret whose key was replaced. */
const MADE_AT = "fjord.dev/made-at";

type Client = Pick<KubeClient, "get" | "create">;

/** How long it is not looked again whether the key is still there: an API may be put back to before there was one. */
const CHECKED_MS = 5_000;

/** The public half of the site's key, once there is one. */
export class LinkKey {
  readonly #client: Client;
  readonly #namespace: string;
  #publicKey: string | undefined;
  #checkedAt = Number.NEGATIVE_INFINITY;

  private constructor(client: Client, namespace: string, publicKey: string | undefined) {
    this.#client = client;
    this.#namespace = namespace;
    this.#publicKey = publicKey;
  }

  static async load(client: Client, namespace: string, signal?: AbortSignal): Promise<LinkKey> {
    const secret = await found(client, namespace, signal);
    return new LinkKey(client, namespace, secret && publicKeyOf(secret));
  }

  get publicKey(): string | undefined {
    return this.#publicKey;
  }

  /** Makes a key where there is none; of several that start at once, all get the same. */
  async ensure(signal?: AbortSignal): Promise<void> {
    const now = performance.now();
    if (now - this.#checkedAt < CHECKED_MS) return;
    const secret = this.#publicKey === undefined ? undefined : await found(this.#client, this.#namespace, signal);
    this.#publicKey = publicKeyOf(secret ?? (await make(this.#client, this.#namespace, signal)));
    this.#checkedAt = now;
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
  // What stands before the 32 bytes of an X25519 key in PKCS #8 (RFC 8410).
  const der = Buffer.concat([
    Buffer.from("302e020100300506032b656e04220420", "hex"),
    Buffer.from(privateKey, "base64"),
  ]);
  const { x = "" } = createPublicKey(createPrivateKey({ key: der, format: "der", type: "pkcs8" })).export({
    format: "jwk",
  });
  return Buffer.from(x, "base64url").toString("base64");
}

/** When the key was made, in milliseconds since the epoch. */
export function keyMadeAtOf({ metadata }: Secret): number | undefined {
  const at = Date.parse(String(metadata.annotations?.[MADE_AT] ?? metadata.creationTimestamp ?? ""));
  return Number.isNaN(at) ? undefined : at;
}
