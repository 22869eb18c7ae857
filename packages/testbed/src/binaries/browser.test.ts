import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { ensureBrowser, findBrowser } from "./browser.ts";
import { temporaryDirectory, writeScript } from "./fake-programs.ts";

function machine(t: TestContext, uid = 0) {
  const root = temporaryDirectory(t);
  const bin = join(root, "bin");
  mkdirSync(bin);
  const host = { platform: "linux", uid, programFolders: [bin], cniFolders: [] };
  return { bin, options: { env: { PATH: "", HOME: root, FJORD_CACHE: join(root, "cache") }, host } };
}

test("the browser that is there is found, and the one that is named", (t) => {
  const { bin, options } = machine(t);
  assert.equal(findBrowser(options.env, [bin]), undefined);
  writeScript(join(bin, "chromium"), "exit 0");
  assert.equal(findBrowser(options.env, [bin]), join(bin, "chromium"));
  assert.equal(findBrowser({ ...options.env, FJORD_BROWSER: "/opt/chrome" }, [bin]), "/opt/chrome");
});

test("root has it installed", async (t) => {
  const { bin, options } = machine(t);
  writeScript(
    join(bin, "apt-get"),
    `case "$*" in *download-only*|*update*) ;; *) echo '#!/bin/sh' > ${bin}/chromium; /bin/chmod +x ${bin}/chromium;; esac`,
  );
  assert.equal(await ensureBrowser(options), join(bin, "chromium"));
});

test("others are told what is missing", async (t) => {
  await assert.rejects(ensureBrowser(machine(t, 1000).options), /only root can install one/);
  await assert.rejects(ensureBrowser(machine(t).options), /no apt-get/);
});
