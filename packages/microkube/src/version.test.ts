import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { FJORD_VERSION } from "./version.ts";

test("the version is the manifest's", () => {
  const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string };
  assert.equal(FJORD_VERSION, manifest.version);
});
