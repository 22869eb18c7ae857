import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { runWhenFree } from "./free-port.ts";

const refusal = (code: string) => Object.assign(new Error(`listen ${code}`), { code });

describe("A server whose port somebody else has", () => {
  it("is run when that is free, and said once to wait", async () => {
    const clock = new ManualClock();
    const said: string[] = [];
    const logger = { ...silentLogger, warn: (text: string) => void said.push(text) };
    let tries = 0;
    const run = async () => {
      if (++tries < 4) throw refusal("EADDRINUSE");
    };
    const running = runWhenFree({ run }, { clock, logger, signal: new AbortController().signal });
    for (let seconds = 0; seconds < 6; seconds += 2) await clock.advance(2_000);
    await running;
    assert.equal(tries, 4);
    assert.deepEqual(said, ["health and metrics are served once their port is free"]);
  });

  it("is given up with whoever waits for it, and at once where it fails otherwise", async () => {
    const options = { clock: new ManualClock(), logger: silentLogger };
    const ended = AbortSignal.abort();
    await runWhenFree({ run: async () => assert.fail("run") }, { ...options, signal: ended });
    const failing = { run: () => Promise.reject(refusal("EADDRNOTAVAIL")) };
    await assert.rejects(runWhenFree(failing, { ...options, signal: new AbortController().signal }), {
      code: "EADDRNOTAVAIL",
    });
  });
});
