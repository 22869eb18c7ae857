import assert from "node:assert/strict";
import { it } from "node:test";
import { proofName } from "@fjord/agent/proven-user";
import { ApiError, CertificateSigningRequest, type KubeClient } from "@fjord/kube";
import { withProof } from "./proof.ts";

const refused = (statusCode: number, reason: string) =>
  new ApiError({ action: "delete", statusCode, status: { kind: "Status", reason, message: reason } });

/** An API that keeps requests, and refuses to delete them with `refusal`. */
function api(refusal?: Error) {
  const kept = new Set<string>();
  const notes: string[] = [];
  const client = {
    create: async (kind: unknown, { metadata }: { metadata: { name: string } }) => {
      assert.equal(kind, CertificateSigningRequest);
      kept.add(metadata.name);
    },
    delete: async (_: unknown, { name }: { name: string }, { signal }: { signal: AbortSignal }) => {
      signal.throwIfAborted();
      if (refusal !== undefined) throw refusal;
      kept.delete(name);
    },
  } as unknown as KubeClient;
  return { client, kept, notes, note: (text: string) => void notes.push(text) };
}

it("is there while it is used, and gone then, also where it was interrupted", async () => {
  for (const isInterrupted of [false, true]) {
    const { kept, ...means } = api();
    const interrupt = new AbortController();
    const used = withProof({ ...means, signal: interrupt.signal }, async (code) => {
      assert.deepEqual([...kept], [proofName("network-capture", code)]);
      if (isInterrupted) interrupt.abort(new Error("interrupted"));
      interrupt.signal.throwIfAborted();
      return "packets";
    });
    if (isInterrupted) await assert.rejects(used, /^Error: interrupted$/);
    else assert.equal(await used, "packets");
    assert.deepEqual([...kept], []);
  }
});

it("is left by who may not delete it, and whatever else is in the way is told", async () => {
  const { signal } = new AbortController();
  const forbidden = api(refused(403, "Forbidden"));
  assert.equal(await withProof({ ...forbidden, signal }, async () => 7), 7);
  assert.deepEqual(forbidden.notes, []);
  const broken = api(refused(500, "InternalError"));
  assert.equal(await withProof({ ...broken, signal }, async () => 7), 7);
  assert.match(broken.notes.join(), /^CertificateSigningRequest fjord-network-capture-\w+ is left: /);
});
