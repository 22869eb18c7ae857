import assert from "node:assert/strict";
import { test } from "node:test";
import { parseResolverFile } from "./resolver-file.ts";

test("a resolver file gives its servers, the last search line and all options", () => {
  const text =
    "# by hand\nnameserver 10.0.0.1\nsearch a.example\nnameserver ::1 ; two\n\nsearch b.example c.example\noptions ndots:2\noptions rotate";
  assert.deepEqual(parseResolverFile(text), {
    servers: ["10.0.0.1", "::1"],
    searches: ["b.example", "c.example"],
    options: ["ndots:2", "rotate"],
  });
  assert.deepEqual(parseResolverFile(""), { servers: [], searches: [], options: [] });
});
