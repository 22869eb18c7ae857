import assert from "node:assert/strict";
import { test } from "node:test";
import { writeToken } from "@fjord/continuum/identity";
import type { KubeClient } from "@fjord/kube";
import { pairBy } from "./pairing.ts";

test("a token of a site that cannot be dialled is answered with what to do instead, before anything is written", async () => {
  const token = writeToken({ site: "a".repeat(26), endpoints: [], secret: "s".repeat(43), expires: Date.now() + 1e6 });
  const signal = new AbortController().signal;
  const options = { namespace: "fjord-system", bothWays: false, timeoutMs: 1_000, signal, told: () => {} };
  await assert.rejects(pairBy({} as KubeClient, token, options), {
    code: "PAIRING_TOKEN_WITHOUT_ENDPOINTS",
    message: /it has no endpoints/,
  });
});
