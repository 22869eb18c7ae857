// The kernel's own WireGuard, on a kernel that has it: Debian's, in a machine that qemu plays. FJORD_TEST_KERNEL=1.
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { ensureNetwork, networkSkip } from "@fjord/testbed/testing";
import { runOnDebianKernel } from "@fjord/testbed/vm";

const root = join(import.meta.dirname, "../../../../..");
const folder = "packages/continuum/src/network/gateway";
const skip =
  process.env.FJORD_TEST_KERNEL !== "1"
    ? "another kernel takes minutes: FJORD_TEST_KERNEL=1 runs it"
    : process.arch !== "x64"
      ? "it is played for x86-64 alone"
      : networkSkip();

const PROGRESS = /^ *(?:not )?ok \d|fjord-vm: /;
/** Of each test: where no processor is lent to the machine, all takes twenty times as long and more. */
const timeout = 25 * 60_000;

describe("On a kernel that has WireGuard", { skip }, () => {
  /** Tests of links, run there; the lines that they print. */
  const run = async (t: TestContext, file: string, env: Readonly<Record<string, string>>): Promise<string[]> => {
    await ensureNetwork((line) => t.diagnostic(line), "qemu-system-x86_64", "busybox");
    const lines: string[] = [];
    const node = [process.execPath, "--test", "--test-reporter=tap", "--test-timeout=3000000"];
    const code = await runOnDebianKernel([...node, join(folder, file)], {
      cwd: root,
      env,
      signal: t.signal,
      onLine(line) {
        lines.push(line);
        // It takes minutes: whoever waits is to see how far it is.
        if (process.env.FJORD_TEST_KERNEL_LOG || PROGRESS.test(line)) process.stdout.write(`${line.trim()}\n`);
      },
    });
    assert.equal(code, 0, lines.slice(-60).join("\n"));
    return lines;
  };

  it("links are carried by it, under the same rules and with the same tests as by a program", {
    timeout,
  }, async (t) => {
    const lines = await run(t, "gateway.integration.test.ts", { FJORD_TEST_WIREGUARD: "kernel" });
    const passed = lines.filter((line) => /^ +ok \d+ /.test(line));
    assert.ok(passed.length >= 15 && lines.includes("# skipped 0"), lines.slice(-30).join("\n"));
  });

  it("is chosen by a probe, and left for a program where a peer is behind a hub", { timeout }, async (t) => {
    await run(t, "wireguard-devices.integration.test.ts", { FJORD_TEST_WIREGUARD: "kernel" });
  });
});
