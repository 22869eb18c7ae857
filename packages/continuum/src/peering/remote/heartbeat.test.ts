import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { defaultRemoteTiming, Heartbeat } from "./heartbeat.ts";

/** A heartbeat on a clock that only the test moves, and what it was told. */
function start(options: { used?: () => boolean; received?: () => number } = {}) {
  const clock = new ManualClock();
  const questions: PromiseWithResolvers<string>[] = [];
  const told: string[] = [];
  const heartbeat = new Heartbeat<string>({
    means: { clock, random: () => 1, logger: silentLogger },
    timing: defaultRemoteTiming,
    used: options.used ?? (() => true),
    ask: (signal) => {
      const question = Promise.withResolvers<string>();
      signal.addEventListener("abort", () => question.reject(signal.reason));
      questions.push(question);
      return question.promise;
    },
    ...(options.received && { received: options.received }),
    onHeard: (report, slow) => void told.push(`heard ${report}${slow ? ", slowly" : ""}`),
    onSlow: () => void told.push("slow"),
    onUnheard: (error, since) => void told.push(`lost since ${since - began}: ${(error as Error).name}`),
  });
  const began = clock.now();
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  const answer = async (report: string) => {
    questions.at(-1)?.resolve(report);
    await settle();
  };
  const fail = async () => {
    questions.at(-1)?.reject(new Error("refused"));
    await settle();
  };
  const pass = async (ms: number) => {
    await clock.advance(ms);
    await settle();
  };
  return { heartbeat, questions, told, answer, fail, pass };
}

describe("a heartbeat", () => {
  test("asks about every second, and never twice at once", async () => {
    const { heartbeat, questions, answer, pass, told } = start();
    heartbeat.refresh();
    heartbeat.refresh();
    assert.equal(questions.length, 1);
    await answer("a");
    // It was asked for again meanwhile.
    await pass(0);
    assert.equal(questions.length, 2);
    await answer("b");
    await pass(799);
    assert.equal(questions.length, 2);
    await pass(1);
    assert.equal(questions.length, 3);
    assert.deepEqual(told, ["heard a", "heard b"]);
  });

  test("takes no notice of one answer that does not come, and asks again at once", async () => {
    const { heartbeat, questions, answer, pass, told } = start();
    heartbeat.refresh();
    await answer("a");
    await pass(800);
    await pass(750);
    await pass(50);
    assert.deepEqual(told, ["heard a"]);
    await pass(0);
    assert.equal(questions.length, 3);
    await answer("a");
    assert.deepEqual(told, ["heard a", "heard a"]);
  });

  test("counts as lost from the first of two that do not come, within three seconds", async () => {
    const { heartbeat, answer, pass, told } = start();
    heartbeat.refresh();
    await answer("a");
    await pass(800);
    for (const ms of [750, 50, 0, 750, 50]) await pass(ms);
    assert.deepEqual(told, ["heard a", "lost since 800: TimedOut"]);
  });

  test("does not wait to say that a site was never there", async () => {
    const { heartbeat, fail, told } = start();
    heartbeat.refresh();
    await fail();
    assert.deepEqual(told, ["lost since 0: Error"]);
  });

  test("asks more often than every half second whether a lost site is back", async () => {
    const { heartbeat, questions, fail, pass, answer, told } = start();
    heartbeat.refresh();
    for (let i = 0; i < 50; i++) {
      await fail();
      await pass(defaultRemoteTiming.retryMs);
      assert.equal(questions.length, i + 2);
    }
    await answer("back");
    assert.equal(told.at(-1), "heard back");
  });

  test("asks seldom for whom nobody uses, and stops when told", async () => {
    const { heartbeat, questions, answer, pass } = start({ used: () => false });
    heartbeat.refresh();
    await answer("a");
    await pass(29_999);
    assert.equal(questions.length, 1);
    await pass(1);
    assert.equal(questions.length, 2);
    heartbeat.stop();
    await answer("b");
    await pass(100_000);
    assert.equal(questions.length, 2);
  });

  test("hears an answer that comes late, of a site that it took for lost", async () => {
    const { heartbeat, questions, answer, pass, told } = start();
    heartbeat.refresh();
    await answer("a");
    await pass(800);
    for (const ms of [750, 50, 0, 750, 50]) await pass(ms);
    assert.equal(told.at(-1), "lost since 800: TimedOut");
    questions[1]?.resolve("late");
    await pass(0);
    assert.equal(told.at(-1), "heard late, slowly");
  });

  test("once used to a site that takes two seconds for each answer, does not lose it", async () => {
    const { heartbeat, questions, answer, pass, told } = start();
    heartbeat.refresh();
    await answer("first");
    const asked = new Map<number, number>();
    for (let now = 0; now < 30_000; now += 50) {
      await pass(50);
      questions.forEach((question, index) => {
        const since = asked.get(index) ?? now;
        asked.set(index, since);
        if (now - since >= 2_000) question.resolve(`${index}`);
      });
    }
    assert.ok(told.length > 10);
    const used = told.findIndex((each) => each.endsWith("slowly"));
    assert.ok(used > 0);
    assert.deepEqual(
      told.slice(used).filter((each) => !each.startsWith("heard")),
      [],
    );
  });

  test("calls a site slow, and not lost, while other bytes of it come", async () => {
    let bytes = 0;
    const { heartbeat, answer, pass, told } = start({ received: () => bytes });
    heartbeat.refresh();
    await answer("a");
    await pass(800);
    for (let i = 0; i < 5; i++) {
      bytes += 100;
      for (const ms of [750, 50, 0]) await pass(ms);
    }
    assert.deepEqual(told, ["heard a", ...Array.from({ length: 5 }, () => "slow")]);
    for (const ms of [750, 50, 0, 750, 50, 0, 750, 50]) await pass(ms);
    assert.match(told.at(-1) ?? "", /^lost since/);
  });

  test("leaves few questions open, none of them for ever", async () => {
    const { heartbeat, questions, pass } = start();
    const open = new Set<number>();
    heartbeat.refresh();
    for (let i = 0; i < 60; i++) {
      questions.forEach((question, index) => {
        if (open.has(index)) return;
        open.add(index);
        question.promise.catch(() => {}).finally(() => open.delete(index));
      });
      await pass(400);
      assert.ok(open.size <= 4, `${open.size} are open`);
    }
  });

  test("is asked sooner by those who want it, and not without end by whoever wants more after each answer", async () => {
    const { heartbeat, questions, answer, pass } = start();
    heartbeat.refresh();
    for (let ms = 0; ms < 10_000; ms += 10) {
      await answer("another one");
      heartbeat.refresh();
      await pass(10);
    }
    assert.ok(questions.length > 20 + 40 && questions.length < 20 + 60, `${questions.length} times`);
    const before = questions.length;
    await pass(200);
    assert.equal(questions.length, before + 1, "the last wish is not forgotten");
  });
});
