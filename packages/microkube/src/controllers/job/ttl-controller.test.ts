import assert from "node:assert/strict";
import { test } from "node:test";
import { expiryOf } from "./ttl-controller.ts";

test("a Job that has ended goes after its time", () => {
  const job = (ttl: number | undefined, ended: boolean) =>
    ({
      metadata: {},
      spec: { ttlSecondsAfterFinished: ttl },
      status: {
        conditions: ended ? [{ type: "Complete", status: "True", lastTransitionTime: "2030-01-01T00:00:00Z" }] : [],
      },
    }) as unknown as Parameters<typeof expiryOf>[0];
  assert.equal(expiryOf(job(10, true)), Date.UTC(2030, 0, 1, 0, 0, 10));
  assert.equal(expiryOf(job(10, false)), undefined);
  assert.equal(expiryOf(job(undefined, true)), undefined);
});
