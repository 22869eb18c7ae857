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

describe("On a kernel that has WireGuard", { skip, timeout: 3_600_000 }, () => {
  /** Tests of links, run there; the lines that they print. */
  const run = async (t: TestContext, file: string, env: Readonly<Record<string, string>>): Promise<string[]> => {
    await ensureNetwork((line) => t.diagnostic(line), "qemu-system-x86_64", "busybox");
    const lines: string[] = [];
    const node = [process.execPath, "--test", "--test-reporter=tap", "--test-timeout=3000000"];
    const code = await runOnDebianKernel([...node, join(folder, file)], {
      cwd: root,
      env,
      onLine(line) {
        lines.push(line);
        if (process.env.FJORD_TEST_KERNEL_LOG) t.diagnostic(line);
      },
    });
    assert.equal(code, 0, lines.slice(-60).join("\n"));
    return lines;
  };

  it("links are carried by it, under the same rules and with the same tests as by a program", async (t) => {
    const lines = await run(t, "gateway.integration.test.ts", { FJORD_TEST_WIREGUARD: "kernel" });
    const passed = lines.filter((line) => /^ +ok \d+ /.test(line));
    assert.ok(passed.length >= 15 && lines.includes("# skipped 0"), lines.slice(-30).join("\n"));
  });

  it("is chosen by a probe, and left for a program where a peer is behind a hub", async (t) => {
    await run(t, "wireguard-devices.integration.test.ts", { FJORD_TEST_WIREGUARD: "kernel" });
  });
});
