import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

test("the generated messages are those of the definition", async () => {
  const read = (name: string) => readFile(new URL(name, import.meta.url), "utf8");
  const hash = createHash("sha256")
    .update(await read("cri.proto"))
    .digest("hex");
  const [, recorded] = (await read("messages.ts")).split("\n");
  assert.equal(recorded, `// ${hash}`, "cri.proto has changed: run packages/node/src/runtimes/cri/proto/generate.sh");
});
