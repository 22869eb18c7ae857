import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { temporaryDirectory, writeScript } from "./fake-programs.ts";
import { ensureNetworkTools, missingNetworkTools } from "./network-tools.ts";

function machine(t: TestContext, uid = 0) {
  const root = temporaryDirectory(t);
  const bin = join(root, "bin");
  mkdirSync(bin);
  for (const name of ["ip", "nft", "wg"]) writeScript(join(bin, name), "exit 0");
  const host = { platform: "linux", uid, programFolders: [bin], cniFolders: [] };
  return { bin, options: { env: { PATH: "", HOME: root, FJORD_CACHE: join(root, "cache") }, host } };
}

/** An apt-get that makes a program of each package that it is asked for. */
function apt(bin: string): string {
  const make = `for each in "$@"; do echo '#!/bin/sh' > ${bin}/$each; /bin/chmod +x ${bin}/$each; done`;
  return `case "$*" in *download-only*|*update*) ;; *) while [ "$1" != --no-install-recommends ]; do shift; done; shift; ${make};; esac`;
}

test("root has those installed that are missing, and no others", async (t) => {
  const { bin, options } = machine(t);
  assert.deepEqual([...missingNetworkTools(options).keys()], ["iperf3", "tcpdump"]);
  writeScript(join(bin, "apt-get"), apt(bin));
  await ensureNetworkTools(options);
  assert.equal(missingNetworkTools(options).size, 0);
});

test("others are told what is missing, and a package without its program is no success", async (t) => {
  await assert.rejects(ensureNetworkTools(machine(t, 1000).options), /lack iperf3, tcpdump: only root/);
  const { bin, options } = machine(t);
  await assert.rejects(ensureNetworkTools(options), /no apt-get/);
  writeScript(join(bin, "apt-get"), "exit 0");
  await assert.rejects(ensureNetworkTools(options), /their packages do not have them/);
});
