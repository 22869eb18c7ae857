import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@fjord/base/testing";
import type { KubeClient } from "@fjord/kube";
import { CaptureAccess } from "./capture-access.ts";
import { proofName, signerOf } from "./proven-user.ts";

const CODE = "k".repeat(43);

function accessFor(options: { signer?: string; ageMs?: number; allowed?: boolean } = {}) {
  const clock = new ManualClock(Date.parse("2030-01-01T00:00:00Z"));
  const reviews: unknown[] = [];
  const request = {
    metadata: { creationTimestamp: new Date(clock.now() - (options.ageMs ?? 1000)).toISOString() },
    spec: { signerName: options.signer ?? signerOf("network-capture"), username: "ada", groups: ["operators"] },
  };
  const client = {
    get: async (_: unknown, { name }: { name: string }) => {
      if (name === proofName("network-capture", CODE)) return request;
      throw Object.assign(new Error("not found"), { code: "KUBE_API", status: 404 });
    },
    create: async (_: unknown, review: { spec: unknown }) => {
      reviews.push(review.spec);
      return { status: { allowed: options.allowed ?? true } };
    },
  } as unknown as KubeClient;
  return { access: new CaptureAccess({ client, clock }), reviews };
}

test("whom RBAC lets capture the Link may, by the name that the API server knows", async () => {
  const { access, reviews } = accessFor();
  assert.equal(await access.whoMay(CODE, "abc"), "ada");
  assert.deepEqual(reviews, [
    {
      user: "ada",
      groups: ["operators"],
      resourceAttributes: { group: "fjord.dev", resource: "links", verb: "capture", name: "abc" },
    },
  ]);
});

test("nobody else does, and who has shown nothing is not asked about", async () => {
  const denied = { code: "CAPTURE_DENIED" };
  await assert.rejects(accessFor({ allowed: false }).access.whoMay(CODE, "abc"), { ...denied, message: /ada may not/ });
  for (const each of [accessFor({ signer: signerOf("page-login") }), accessFor({ ageMs: 121_000 })]) {
    await assert.rejects(each.access.whoMay(CODE, "abc"), denied);
    assert.deepEqual(each.reviews, []);
  }
  await assert.rejects(accessFor().access.whoMay("short", "abc"), denied);
});
