import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { silentLogger } from "@fjord/base";
import { PodRange } from "./pod-range.ts";

const root = mkdtempSync(join(tmpdir(), "fjord-range-"));
after(() => rmSync(root, { recursive: true }));
/** The start of eight ranges of `/16` that no node takes by itself, and no other run of these tests. */
const block = await freeBlock();
const range = (index: number) => `127.${block + index}.0.0/16`;
const claim = (node: string, wanted?: string) =>
  PodRange.claim({ file: join(root, node), logger: silentLogger, ...(wanted !== undefined && { wanted }) });

test("nodes of one machine take different ranges, and keep theirs over restarts", async () => {
  const one = await claim("one");
  const two = await claim("two");
  assert.notEqual(one.cidr, two.cidr);
  await one.close();
  await two.close();
  const twoAgain = await claim("two");
  assert.equal(twoAgain.cidr, two.cidr);
  assert.equal((await claim("one")).cidr, one.cidr);
  await twoAgain.close();
});

test("a range that was asked for is refused while another node has it, or a part of it", async () => {
  const held = await claim("held", range(1));
  await assert.rejects(claim("same", range(1)), { code: "POD_RANGE_IN_USE" });
  await assert.rejects(claim("part", `127.${block + 1}.7.0/24`), { code: "POD_RANGE_IN_USE" });
  await assert.rejects(claim("whole", `127.${block}.0.0/13`), { code: "POD_RANGE_IN_USE" });
  const beside = await claim("beside", range(2));
  await held.close();
  await (await claim("part", `127.${block + 1}.7.0/24`)).close();
  await beside.close();
});

test("what is no range is said to be none", async () => {
  await assert.rejects(claim("odd", "10.0.0.0/8"), { code: "INVALID_POD_RANGE" });
});

test("a node that was killed leaves its range free", async (context) => {
  const script = `import { PodRange } from ${JSON.stringify(new URL("./pod-range.ts", import.meta.url).href)};
    import { silentLogger } from "@fjord/base";
    await PodRange.claim({ file: ${JSON.stringify(join(root, "killed"))}, wanted: ${JSON.stringify(range(3))}, logger: silentLogger });
    console.log("claimed"); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module-typescript", "--eval", script], {
    cwd: import.meta.dirname,
    stdio: ["ignore", "pipe", "inherit"],
  });
  context.after(() => child.kill("SIGKILL"));
  await once(child.stdout, "data");
  await assert.rejects(claim("next", range(3)), { code: "POD_RANGE_IN_USE" });
  child.kill("SIGKILL");
  await once(child, "exit");
  await (await claim("next", range(3))).close();
});

test("addresses on which something listens are taken by no new node", async () => {
  const first = await claim("first");
  await first.close();
  const server = createServer().listen(0, first.cidr.replace("0.0/16", "0.9"));
  await once(server, "listening");
  const stranger = await claim("stranger");
  assert.notEqual(stranger.cidr, first.cidr);
  const again = await claim("first");
  assert.equal(again.cidr, first.cidr, "the pods are its own");
  for (const range of [stranger, again]) await range.close();
  server.close();
});

async function freeBlock(): Promise<number> {
  for (let first = 128; first < 256; first += 8) {
    // A name without a file: it is ours until this process ends.
    const holder = createServer().listen(`\0fjord-pod-range-test/${first}`);
    if (await once(holder, "listening").catch(() => false)) {
      holder.unref();
      return first;
    }
  }
  throw new Error("no addresses are left for these tests");
}
