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
