import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatRequest, parseRequest } from "./request.ts";

// Names of roles and the like may hold anything but a slash.
const someName = fc.string({ minLength: 1 }).filter((name) => !name.includes("/"));

test("a request survives being a key of the queue", () => {
  fc.assert(
    fc.property(someName, fc.option(someName, { nil: undefined }), (name, namespace) => {
      const request = namespace === undefined ? { name } : { name, namespace };
      assert.deepEqual(parseRequest(formatRequest(request)), request);
    }),
  );
});
