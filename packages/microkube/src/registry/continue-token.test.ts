import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { StatusError } from "../status-error.ts";
import { decodeContinue, encodeContinue } from "./continue-token.ts";

test("a token leads back to its key, at its revision", () => {
  for (const revision of [5, -1]) {
    const token = encodeContinue({ revision, after: "pods/shop/web" }, "pods/");
    assert.deepEqual(decodeContinue(token, "pods/"), { revision, after: "pods/shop/web" });
  }
});

test("a token never leads out of its resource, and nonsense is refused", () => {
  const forged = (start: unknown, rv: unknown = 5, v: unknown = "meta.k8s.io/v1") =>
    Buffer.from(JSON.stringify({ v, rv, start })).toString("base64url");
  for (const token of [forged("../secrets/a"), forged("a/../../b"), forged("//a"), forged(""), forged(1)]) {
    assert.throws(() => decodeContinue(token, "pods/"), StatusError);
  }
  assert.throws(() => decodeContinue(forged("a", 0), "pods/"), /incorrect encoded start resourceVersion/);
  assert.throws(() => decodeContinue(forged("a", 5, "v2"), "pods/"), /does not recognize this encoded version v2/);
  fc.assert(
    fc.property(fc.string(), (text) => {
      try {
        assert(decodeContinue(text, "pods/").after.startsWith("pods/"));
      } catch (error) {
        assert(error instanceof StatusError && error.code === 400);
      }
    }),
  );
});
