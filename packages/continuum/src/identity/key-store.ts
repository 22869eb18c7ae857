import { ifNotFound, isAlreadyExists, type KubeClient, Secret } from "@fjord/kube";
import { IdentityDamaged } from "./errors.ts";
import { SiteKey } from "./site-key.ts";

/** The Secret that holds a site's key. Whoever reads it can act as the site. */
export const IDENTITY_SECRET = "fjord-identity";
export const IDENTITY_SECRET_TYPE = "fjord.dev/identity";

const KEY = "key.pem";
const ID = "id";
const SITE_NAME = "site-name";

export interface KeyStoreOptions {
  /** Name of the own Site object. Left out: the one that is kept already, else one made of the id. */
  readonly name?: string;
  readonly signal?: AbortSignal;
}

export interface StoredIdentity {
  readonly key: SiteKey;
  /** Name of the own Site object. */
  readonly name: string;
  /** The name that was kept before, where this start gave another: its Site object is a leftover. */
  readonly formerName?: string;
}

type Client = Pick<KubeClient, "get" | "create" | "update">;

/** Where a site's key is kept. Nothing here ever overwrites a key. */
export const KeyStore = {
  /** Makes a key where there is none; of several that start at once, all get the same. */
  async load(client: Client, namespace: string, options: KeyStoreOptions = {}): Promise<StoredIdentity> {
    const { signal } = options;
    const found = (await find(client, namespace, signal)) ?? (await make(client, namespace, options));
    const stored = read(found);
    const { name } = options;
    if (name === undefined || stored.name === name) return stored;
    // The resource version is in it: a Secret that somebody has replaced meanwhile is left alone, and the start fails.
    const renamed = { ...found, data: { ...found.data, [SITE_NAME]: encode(name) } };
    await client.update(Secret, renamed, { signal });
    return { ...stored, name, formerName: stored.name };
  },

  /** Writes a key that is in use where there is none any more; false where there is one. */
  async keep(
    client: Pick<KubeClient, "create">,
    namespace: string,
    stored: Pick<StoredIdentity, "key" | "name">,
    signal?: AbortSignal,
  ): Promise<boolean> {
    try {
      await client.create(Secret, forge(namespace, stored), { signal });
      return true;
    } catch (error) {
      if (isAlreadyExists(error)) return false;
      throw error;
    }
  },

  /** Undefined where the site has no key yet. */
  async read(
    client: Pick<KubeClient, "get">,
    namespace: string,
    signal?: AbortSignal,
  ): Promise<StoredIdentity | undefined> {
    const secret = await find(client, namespace, signal);
    return secret === undefined ? undefined : read(secret);
  },
};

/** What a site is called that nobody has named. */
export function defaultSiteName(id: string): string {
  return `site-${id.slice(0, 8)}`;
}

async function find(client: Pick<KubeClient, "get">, namespace: string, signal?: AbortSignal) {
  return await client.get(Secret, { name: IDENTITY_SECRET, namespace }, { signal }).catch(ifNotFound);
}

async function make(client: Client, namespace: string, { name, signal }: KeyStoreOptions): Promise<Secret> {
  const key = await SiteKey.generate();
  const secret = forge(namespace, { key, name: name ?? defaultSiteName(key.id) });
  try {
    return await client.create(Secret, secret, { signal });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return client.get(Secret, { name: IDENTITY_SECRET, namespace }, { signal });
  }
}

function forge(namespace: string, { key, name }: Pick<StoredIdentity, "key" | "name">): Secret {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: IDENTITY_SECRET, namespace },
    type: IDENTITY_SECRET_TYPE,
    data: { [KEY]: encode(key.toPem()), [ID]: encode(key.id), [SITE_NAME]: encode(name) },
  };
}

/** What the site is called by its Secret. */
export function nameIn({ data }: Secret): string | undefined {
  return Buffer.from(data?.[SITE_NAME] ?? "", "base64").toString("utf8") || undefined;
}

function read(secret: Secret): StoredIdentity {
  const source = `Secret ${secret.metadata.namespace}/${secret.metadata.name}`;
  const field = (name: string): string => {
    const value = secret.data?.[name];
    if (value === undefined || value === "") throw new IdentityDamaged({ source, problem: `it has no ${name}` });
    return Buffer.from(value, "base64").toString("utf8");
  };
  const key = SiteKey.fromPem(field(KEY), source);
  const id = field(ID);
  if (id !== key.id) {
    throw new IdentityDamaged({ source, problem: `its key gives the id ${key.id}, and not ${id} as it says` });
  }
  return { key, name: field(SITE_NAME) };
}

function encode(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}
