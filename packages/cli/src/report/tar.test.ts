import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { gzipSync } from "node:zlib";
import { tar } from "./tar.ts";

const folder = mkdtempSync(join(tmpdir(), "fjord-report-"));
after(() => rmSync(folder, { recursive: true, force: true }));

test("tar reads the archive", () => {
  const files = [
    { name: "report/a.txt", content: "hello" },
    { name: "report/b.txt", content: "ø".repeat(2_000) },
    { name: "report/empty.txt", content: "" },
  ];
  const file = join(folder, "report.tar.gz");
  writeFileSync(file, gzipSync(tar(files, 0)));
  assert.equal(execFileSync("tar", ["-tzf", file]).toString(), files.map(({ name }) => `${name}\n`).join(""));
  for (const { name, content } of files)
    assert.equal(execFileSync("tar", ["-xzOf", file, name]).toString(), content, name);
});
