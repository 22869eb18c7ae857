import assert from "node:assert/strict";
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { PassThrough } from "node:stream";
import { describe, it } from "node:test";
import { type LogFields, silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { parseRange } from "../ip-range.ts";
import { isUnanswered, UnansweredFlows } from "./unanswered-flows.ts";

const number = (text: string) => parseRange(text)?.first ?? 0n;
const silent = [parseRange("240.0.0.0/16") as NonNullable<ReturnType<typeof parseRange>>];

describe("Connections that a silent peer has not answered", () => {
  const flow = { family: 4, protocol: 6, isAnswered: false, to: number("10.96.0.7"), answersFrom: number("240.0.0.9") };

  it("are those of TCP that a Service has led there, and of which nothing has come back", () => {
    const is = (change: Partial<typeof flow>) => isUnanswered({ ...flow, ...change, family: 4 }, silent);
    assert.ok(is({}));
    assert.ok(!is({ isAnswered: true }), "it goes on where the link does");
    assert.ok(!is({ to: flow.answersFrom }), "it was begun to there");
    assert.ok(!is({ protocol: 17 }), "Kubernetes sees to these");
    assert.ok(!is({ answersFrom: number("10.42.1.2") }), "it is elsewhere");
  });

  it("are looked for before each that was led there tries again, also where a node's rules take seconds to follow", async () => {
    const clock = new ManualClock();
    const [looks, began, ended] = [[] as number[], clock.now(), [] as Promise<unknown>[]];
    const network = {
      talk: () => {
        looks.push(clock.now() - began);
        const child = spawn("false");
        ended.push(once(child, "close"));
        return child;
      },
    };
    const flows = new UnansweredFlows({ network, clock, logger: silentLogger });
    flows.keep(["240.0.0.0/16"]);
    for (let i = 0; i < 60; i++) {
      await clock.advance(100);
      await Promise.all(ended);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await flows.close();
    const gaps = [...looks, 6_000].map((at, i) => at - (looks[i - 1] ?? 0));
    assert.ok(Math.max(...gaps) < 1_000, `${looks}`);
  });

  it("are looked for several times after a link has fallen silent, and no more once it is heard", async () => {
    const clock = new ManualClock();
    const looks: number[] = [];
    const [warnings, began] = [[] as LogFields[], clock.now()];
    const warn = (_: string, fields: LogFields = {}) => void warnings.push(fields);
    const network = {
      talk: () => {
        looks.push(clock.now() - began);
        return spawn("sh", ["-c", "echo no >&2; exit 1"]);
      },
    };
    const flows = new UnansweredFlows({ network, clock, logger: { ...silentLogger, warn } });
    flows.keep([]);
    await clock.advance(1_000);
    assert.deepEqual(looks, []);
    const until = async (count: number) => {
      while (looks.length < count) {
        await clock.advance(100);
        // What was started ends by the machine's time.
        await new Promise((resolve) => setTimeout(resolve, 20));
        flows.keep(["240.0.0.0/16"]);
      }
    };
    await until(3);
    // The first time that it was said is after eleven tenths of a second.
    assert.ok(
      looks.every((at, i) => at >= 1_100 + ([200, 600, 1_200][i] ?? 0)),
      String(looks),
    );
    flows.keep([]);
    await clock.advance(200_000);
    assert.equal(looks.length, 3);
    await flows.close();
    assert.deepEqual(warnings, [{ reason: "no" }], "what the kernel cannot be asked is said once");
  });

  /** Looks that each take so long, by a clock that `pass` moves. */
  function slowLooks(takesMs: number) {
    const clock = new ManualClock();
    const began = clock.now();
    const looks: { at: number; end(): void }[] = [];
    const network = {
      talk: () => {
        const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
        const child = Object.assign(new EventEmitter(), { stdin, stdout, stderr, kill: () => true });
        const end = () => {
          stdout.end();
          child.emit("close");
        };
        looks.push({ at: clock.now() - began, end });
        clock.after(takesMs, end);
        return child as unknown as ChildProcessWithoutNullStreams;
      },
    };
    const flows = new UnansweredFlows({ network, clock, logger: silentLogger });
    const pass = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 50) {
        await clock.advance(50);
        // Streams take some turns.
        for (let i = 0; i < 5; i++) await new Promise(setImmediate);
      }
    };
    const close = async () => {
      for (const { end } of looks) end();
      await flows.close();
    };
    return { flows, looks, pass, close };
  }

  it("are looked for a sixth of the time at most, however many links fall silent one after the other", async () => {
    const takesMs = 200;
    const { flows, looks, pass, close } = slowLooks(takesMs);
    const ranges: string[] = [];
    for (let i = 0; i < 60; i++) {
      ranges.push(`240.${i}.0.0/16`);
      flows.keep(ranges);
      await pass(100);
    }
    await pass(6_000);
    await close();
    const gaps = looks.slice(1).map(({ at }, i) => at - (looks[i]?.at ?? 0));
    assert.ok(Math.min(...gaps) >= 6 * takesMs, `${looks.map(({ at }) => at)}`);
    // The last one fell silent when 5.9 s had passed.
    assert.ok(looks.some(({ at }) => at >= 6_100) && Math.max(...gaps) < 1_500, `${looks.map(({ at }) => at)}`);
  });

  it("are looked for once or twice where a link falls silent again and again", async () => {
    const { flows, looks, pass, close } = slowLooks(50);
    for (let i = 0; i < 15; i++) {
      flows.keep(["240.0.0.0/16"]);
      await pass(3_000);
      flows.keep([]);
      await pass(500);
    }
    const early = looks.filter(({ at }) => at < 3_500).length;
    assert.ok(early >= 3, `${early} looks after the first fall`);
    const late = looks.filter(({ at }) => at >= 5 * 3_500).length;
    assert.ok(late >= 10 && late <= 20, `${late} looks after the last ten falls`);
    // Another peer's link is none of its.
    flows.keep(["240.1.0.0/16"]);
    const before = looks.length;
    await pass(3_000);
    assert.ok(looks.length >= before + 3);
    await close();
  });
});
