import assert from "node:assert/strict";
import { test } from "node:test";
import { behind, type ConformanceResult, joined, resultOf } from "./result.ts";

const spec = (name: string, State: string, Message = "") => ({
  ContainerHierarchyTexts: ["[sig-node] Pods"],
  LeafNodeText: name,
  LeafNodeType: "It",
  State,
  ...(Message !== "" && { Failure: { Message } }),
});

test("a report becomes names by outcome, with the first line of why", () => {
  const report = [
    {
      SpecReports: [
        spec("should run", "passed"),
        spec("should end", "passed"),
        spec("should wait", "failed", "\nTimed out after 30 s.\nExpected ..."),
        spec("should stop", "timedout"),
        spec("should resize", "skipped", "Only supported on Windows"),
        spec("is of another group", "skipped"),
        { LeafNodeType: "SynchronizedBeforeSuite", State: "passed" },
      ],
    },
    { SpecReports: null },
  ];
  assert.deepEqual(resultOf(JSON.stringify(report), "fjord", 12), {
    target: "fjord",
    run: 4,
    passed: ["[sig-node] Pods should end", "[sig-node] Pods should run"],
    failed: ["[sig-node] Pods should stop", "[sig-node] Pods should wait"],
    skipped: ["[sig-node] Pods should resize"],
    reasons: {
      "[sig-node] Pods should resize": "Only supported on Windows",
      "[sig-node] Pods should stop": "timedout",
      "[sig-node] Pods should wait": "Timed out after 30 s.",
    },
    seconds: 12,
  });
});

test("a suite that could not be set up counts as a failure", () => {
  const failure = { LeafNodeType: "SynchronizedBeforeSuite", State: "failed", Failure: { Message: "no nodes" } };
  const { run, failed } = resultOf(JSON.stringify([{ SpecReports: [failure] }]), "kubelet", 1);
  assert.deepEqual([run, failed], [1, ["[SynchronizedBeforeSuite]"]]);
});

test("one is behind in what it failed or skipped and the other passed, not in what it did not run", () => {
  const result = (passed: string[], failed: string[] = [], skipped: string[] = []): ConformanceResult => ({
    target: "fjord",
    run: passed.length + failed.length,
    passed,
    failed,
    skipped,
    reasons: {},
    seconds: 0,
  });
  assert.deepEqual(behind(result(["a"], ["b", "c"], ["d"]), result(["a", "b", "d", "e"], ["c"])), ["b", "d"]);
});

test("results of two runs are one result, in order", () => {
  const result = (passed: string[], failed: string[]) => ({
    ...{ target: "microkube" as const, run: passed.length + failed.length, passed, failed, skipped: [] },
    reasons: Object.fromEntries(failed.map((name) => [name, `${name} is wrong`])),
    seconds: 10,
  });
  assert.deepEqual(joined([result(["a", "d"], ["e"]), result(["b"], ["c"])]), {
    ...{ target: "microkube", run: 5, passed: ["a", "b", "d"], failed: ["c", "e"], skipped: [] },
    ...{ reasons: { c: "c is wrong", e: "e is wrong" }, seconds: 20 },
  });
});
