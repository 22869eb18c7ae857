import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { mergeHeaders } from "./headers.ts";
import { impersonationHeaders } from "./impersonation.ts";

test("replaces a header whatever its case, and leaves alone what is undefined", () => {
  const merged = mergeHeaders({ Accept: "a", "X-One": "1" }, { accept: "b", "x-one": undefined }, undefined);
  assert.deepEqual(merged, { accept: "b", "X-One": "1" });
});

test("one impersonation header replaces them all", () => {
  const root = { "Impersonate-User": "root", "impersonate-group": ["system:masters"], "IMPERSONATE-EXTRA-a": ["b"] };
  assert.deepEqual(mergeHeaders(root, { "x-other": "1" }, { "impersonate-user": "bob" }), {
    "x-other": "1",
    "impersonate-user": "bob",
  });
  assert.deepEqual(mergeHeaders(root, { "impersonate-user": undefined }), root);
});

test("whoever is impersonated last is impersonated alone", () => {
  const word = fc.stringMatching(/^[a-z]{1,8}$/);
  const who = fc.record(
    { user: word, groups: fc.array(word), uid: word, extra: fc.dictionary(word, fc.array(word, { minLength: 1 })) },
    { requiredKeys: ["user"] },
  );
  const cased = fc.tuple(who, fc.boolean()).map(([one, lower]) => {
    const headers = impersonationHeaders(one);
    return lower ? Object.fromEntries(Object.entries(headers).map(([n, v]) => [n.toLowerCase(), v])) : headers;
  });
  fc.assert(
    fc.property(fc.array(cased), who, (earlier, last) => {
      assert.deepEqual(mergeHeaders(...earlier, impersonationHeaders(last)), impersonationHeaders(last));
    }),
  );
});
