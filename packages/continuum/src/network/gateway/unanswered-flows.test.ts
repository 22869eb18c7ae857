import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
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
});
