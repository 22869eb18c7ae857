import assert from "node:assert/strict";
import { it } from "node:test";
import { ApiError, isNotFound, type KubeClient, Secret } from "@fjord/kube";
import { keyMadeAtOf, LINK_SECRET, LinkKey, privateKeyOf, publicHalf, replaceLinkKey } from "./link-key.ts";

it("the key of links is replaced as a whole, with when that was", async () => {
  const missing = new ApiError({ action: "find it", statusCode: 404 });
  let kept: Secret | undefined;
  const client = {
    get: async () => kept ?? Promise.reject(missing),
    create: async (_: unknown, made: Secret) => (kept = made),
    patch: async (_: unknown, __: unknown, ___: unknown, { metadata, data }: Secret) => {
      if (kept === undefined) throw missing;
      kept = { ...kept, metadata: { ...kept.metadata, ...metadata }, data: { ...kept.data, ...data } };
      return kept;
    },
  } as unknown as Pick<KubeClient, "get" | "create" | "patch">;
  const namespace = "fjord-system";
  await assert.rejects(replaceLinkKey(client, namespace, 0), isNotFound);
  const key = await LinkKey.load(client, namespace);
  await key.ensure();
  const secret = () => client.get(Secret, { name: LINK_SECRET, namespace });
  assert.equal(publicHalf(privateKeyOf(await secret())), key.publicKey);
  const now = Date.UTC(2031, 0, 1);
  const replaced = await replaceLinkKey(client, namespace, now);
  assert.notEqual(replaced, key.publicKey);
  assert.equal(publicHalf(privateKeyOf(await secret())), replaced);
  assert.equal(keyMadeAtOf(await secret()), now);
  assert.equal((await LinkKey.load(client, namespace)).publicKey, replaced);
});

it("a key that is no longer there, as where an API was put back to before it, is made anew", async (t) => {
  const missing = new ApiError({ action: "find it", statusCode: 404 });
  let kept: Secret | undefined;
  const client = {
    get: async () => kept ?? Promise.reject(missing),
    create: async (_: unknown, made: Secret) => (kept = made),
  } as unknown as Pick<KubeClient, "get" | "create">;
  let now = 0;
  t.mock.method(performance, "now", () => now);
  const key = await LinkKey.load(client, "fjord-system");
  await key.ensure();
  const first = key.publicKey;
  kept = undefined;
  await key.ensure();
  assert.equal(key.publicKey, first, "it is not asked for at every turn");
  now = 6_000;
  await key.ensure();
  assert.notEqual(key.publicKey, first);
  assert.equal(publicHalf(privateKeyOf(kept as unknown as Secret)), key.publicKey);
});

it("an agent that has not looked since the key was replaced proves nothing, and looks", async (t) => {
  let kept: Secret | undefined;
  const client = {
    get: async () => kept,
    create: async (_: unknown, made: Secret) => (kept = made),
    patch: async (_: unknown, __: unknown, ___: unknown, { data }: Secret) => {
      kept = { ...kept, data } as Secret;
      return kept;
    },
  } as unknown as Pick<KubeClient, "get" | "create" | "patch">;
  let now = 0;
  t.mock.method(performance, "now", () => now);
  const key = await LinkKey.load(client, "fjord-system");
  await key.ensure();
  const peer = { site: "peer", publicKey: key.publicKey ?? "" };
  const proofOf = (publicKey = "") => key.proven({ publicKey }, peer, "own").keyProof;
  assert.equal(proofOf(key.publicKey), key.proof(peer.publicKey, "own", "peer"));
  const next = await replaceLinkKey(client, "fjord-system", 0);
  now = 10_000;
  assert.equal(proofOf(next), undefined);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(key.publicKey, next);
  assert.equal(proofOf(next), key.proof(peer.publicKey, "own", "peer"));
  assert.equal(key.proven({ publicKey: next }, undefined, "own").keyProof, undefined);
});
