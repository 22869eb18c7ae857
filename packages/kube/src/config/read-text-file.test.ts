import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { silentLogger, systemClock } from "@fjord/base";
import { loadClusterConfig } from "./load.ts";
import { readTextFile } from "./read-text-file.ts";
import { TokenFile } from "./token-file.ts";

const directory = mkdtempSync(join(tmpdir(), "fjord-read-"));
after(() => rmSync(directory, { recursive: true }));

test("reads files and links to files", async () => {
  writeFileSync(join(directory, "file"), "text");
  symlinkSync("file", join(directory, "link"));
  assert.equal(await readTextFile(join(directory, "file")), "text");
  assert.equal(await readTextFile(join(directory, "link")), "text");
  assert.equal(await readTextFile("/dev/null"), "");
});

test("refuses pipes and devices at once", { timeout: 60_000 }, async () => {
  const pipe = join(directory, "pipe");
  execFileSync("mkfifo", [pipe]);
  for (const path of [pipe, "/dev/zero"]) {
    await assert.rejects(loadClusterConfig({ env: {}, kubeconfig: path }), {
      code: "KUBE_CONFIG_UNREADABLE",
      message: /not a regular file/,
    });
    const token = new TokenFile({ path, where: "tokenFile", clock: systemClock, logger: silentLogger });
    await assert.rejects(token.current(), { code: "KUBE_TOKEN_FILE", message: /not a regular file/ });
  }
});
