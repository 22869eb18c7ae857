import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { describe, it } from "node:test";
import { heapUsed } from "@fjord/kube/testing";
import { NetlinkReader } from "../netlink-message.ts";
import { NetlinkTalk } from "./netlink-talk.ts";

/** What is printed for each that the kernel confirms. */
const CONFIRMED = "Buffer.from('1400000002000000000000000000000000000000', 'hex')";

describe("A talk with the kernel", () => {
  const talking = (script: string) =>
    new NetlinkTalk(
      { talk: () => spawn(process.execPath, ["-e", script], { stdio: "pipe" }) },
      new NetlinkReader<never>(() => undefined),
    );

  it("remembers nothing of what was heard: of a kernel that knows many flows all are told", async () => {
    const talk = talking(
      `process.stdout.write(Buffer.concat(Array(200_000).fill(${CONFIRMED}))); setInterval(() => {}, 1e6)`,
    );
    const before = heapUsed();
    for (let i = 0; i < 200_000; i++) assert.equal((await talk.next()).error, 0);
    const grown = heapUsed() - before;
    talk.close();
    assert.ok(grown < 8 << 20, `${grown >> 20} MB`);
  });

  it("says why it has ended, once all is heard that was said before", async () => {
    const talk = talking(`process.stdout.write(${CONFIRMED}); console.error("no"); process.exitCode = 1`);
    assert.deepEqual(await talk.next(), { error: 0 });
    await assert.rejects(talk.next(), /^Error: no$/);
    const missing = new NetlinkTalk(
      { talk: () => spawn("/nowhere/perl", { stdio: "pipe" }) },
      new NetlinkReader<never>(() => undefined),
    );
    await assert.rejects(missing.next(), /there is no perl/);
  });
});
