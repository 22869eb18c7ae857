import assert from "node:assert/strict";
import { test } from "node:test";
import { sameObject, sameValue } from "./same-object.ts";

test("what is not there and what is undefined are the same", () => {
  assert(sameValue({ a: 1, b: undefined }, { a: 1 }));
  assert(!sameValue({ a: 1, b: null }, { a: 1 }));
  assert(!sameValue([1, 2], [1]));
  assert(!sameValue({}, []));
});

test("managers' times and the version do not make another object", () => {
  const one = (time: string, resourceVersion: string, manager = "m") => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "a", resourceVersion, managedFields: [{ manager, time }] },
  });
  assert(sameObject(one("1", "5"), one("2", "6")));
  assert(!sameObject(one("1", "5"), one("1", "5", "n")));
});
