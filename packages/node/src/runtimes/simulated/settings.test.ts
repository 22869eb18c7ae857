import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { Pod } from "@fjord/kube";
import * as fc from "fast-check";
import { AddressRange } from "./address-range.ts";
import { chance } from "./chance.ts";
import { beginningOf, fateOf, stopOf } from "./fate.ts";
import { matchesAny, parseRules, settingObjections, settingsOf } from "./rules.ts";
import { Settings, settingNames } from "./settings.ts";
import { usageAt } from "./usage.ts";
import { duration, readDuration } from "./values.ts";

function podOf(annotations: Record<string, string> = {}, more: Partial<Pod["metadata"]> = {}): Pod {
  const prefixed = Object.fromEntries(
    Object.entries(annotations).map(([name, text]) => [`simulated.fjord.dev/${name}`, text]),
  );
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", namespace: "shop", uid: "u1", annotations: prefixed, ...more },
    spec: { nodeName: "fleet-7", containers: [{ name: "web" }] },
  };
}

const main = { podUid: "u1", container: "web", isInit: false, attempt: 0 };

describe("values of settings", () => {
  test("times are read as people write them", () => {
    const times: [string, number | undefined][] = [
      ["500ms", 500],
      ["2s", 2_000],
      ["1m30s", 90_000],
      ["1.5h", 5_400_000],
      ["0", 0],
      ["never", Number.POSITIVE_INFINITY],
      ["2", undefined],
      ["s", undefined],
      ["-1s", undefined],
      ["1 s", undefined],
    ];
    for (const [text, ms] of times) assert.equal(readDuration(text), ms, text);
    assert.deepEqual(duration.read("1s-3s"), { low: 1_000, high: 3_000 });
    for (const text of ["3s-1s", "1s-", "1s-2s-3s", "1s-never", ""]) assert.equal(duration.read(text), undefined, text);
  });

  test("annotations that nobody could follow are objected to, with what was meant", () => {
    assert.deepEqual(settingObjections(podOf({ "exit-code": "3", "cpu.web": "100m-300m" })), []);
    assert.match(settingObjections(podOf({ exit: "3" }))[0] ?? "", /exit is nothing .* \(exit-after, .*\?\)/);
    assert.match(settingObjections(podOf({ "exit-code": "256" }))[0] ?? "", /exit-code: "256" is not an exit code/);
    assert.match(settingObjections(podOf({ "exit-probability": "1.5" }))[0] ?? "", /not a probability/);
    assert.match(settingObjections(podOf({ memory: "lots" }))[0] ?? "", /not an amount/);
  });

  test("every setting is explained to users", () => {
    const page = readFileSync(join(import.meta.dirname, "../../../../../docs/simulated.md"), "utf8");
    for (const name of settingNames) assert.ok(page.includes(`\`${name}\``), `docs/simulated.md does not have ${name}`);
  });
});

describe("rules", () => {
  const text = `
nodeCount: 3
pods:
  - settings: {start-delay: 1s, exit-code: 1}
  - namespaces: [shop, "load-*"]
    labels: {app: web}
    settings: {exit-code: 2, exit-code.web: 3}
  - owners: [Job]
    settings: {exit-after: 5s}
  - nodes: ["fleet-1*"]
    settings: {exit-after: 9s}
`;

  test("later ones go before earlier ones, and annotations before all", async () => {
    const { pods, nodeCount } = await parseRules(text, "rules.yaml");
    assert.equal(nodeCount, 3);
    const labels = { app: "web" };
    assert.equal(settingsOf(podOf({}, { namespace: "other" }), pods).get("exit-code", "web"), 1);
    assert.equal(settingsOf(podOf({}, { labels }), pods).get("exit-code", "web"), 3);
    assert.equal(settingsOf(podOf({}, { labels }), pods).get("exit-code", "other"), 2);
    assert.equal(settingsOf(podOf({ "exit-code": "4" }, { labels }), pods).get("exit-code", "web"), 4);
    assert.equal(settingsOf(podOf({}), pods).get("exit-after"), undefined);
    const job = { ownerReferences: [{ apiVersion: "batch/v1", kind: "Job", name: "j", uid: "j" }] };
    assert.equal(settingsOf(podOf({}, job), pods).get("exit-after")?.low, 5_000);
  });

  test("a file with mistakes is refused with where they are", async () => {
    const files: [string, RegExp][] = [
      ["pods: {}", /pods of the file is not a list/],
      ["pods: [{setings: {}}]", /pods\[0\] has setings, but may only have/],
      ["pods: [{settings: {exit-code: x}}]", /exit-code: "x" is not an exit code/],
      ["nodes: [{taints: [nonsense]}]", /nonsense/],
      ["nodes: [{away: {after: soon}}]", /after: "soon" is not a time/],
      ["nodeCount: many", /nodeCount of the file is not a whole number/],
      ["pods: [", /rules\.yaml/],
    ];
    for (const [file, words] of files) await assert.rejects(parseRules(file, "rules.yaml"), { message: words });
  });

  test("names match patterns", () => {
    for (const [pattern, name, matches] of [
      ["a*", "abc", true],
      ["*c", "abc", true],
      ["a*c", "abbbc", true],
      ["a*c", "ac", true],
      ["ab*bc", "abc", false],
      ["*b*", "abc", true],
      ["abc", "abcd", false],
      ["*", "", true],
    ] as const)
      assert.equal(matchesAny([pattern], name), matches, `${pattern} ${name}`);
  });
});

describe("chance", () => {
  test("is the same for the same words, and even", () => {
    assert.equal(chance("a", 1), chance("a", 1));
    const draws = Array.from({ length: 10_000 }, (_, index) => chance("uid", index, "exit-after"));
    assert.ok(draws.every((draw) => draw >= 0 && draw < 1));
    const mean = draws.reduce((sum, draw) => sum + draw, 0) / draws.length;
    assert.ok(Math.abs(mean - 0.5) < 0.02, `mean ${mean}`);
  });

  test("a share of pods fails that is as large as asked for", () => {
    const settings = new Settings([{ "exit-after": "1s", "exit-probability": "0.3" }]);
    const failing = Array.from({ length: 5_000 }, (_, index) => fateOf(settings, { ...main, podUid: `pod-${index}` }));
    const share = failing.filter(({ exitMs }) => exitMs === 1_000).length / failing.length;
    assert.ok(Math.abs(share - 0.3) < 0.03, `share ${share}`);
  });
});

describe("fates of containers", () => {
  test("init containers are told only what names them", () => {
    const settings = new Settings([{ "exit-after": "5s", "exit-code": "1", "exit-code.setup": "2" }]);
    assert.deepEqual(fateOf(settings, { ...main, container: "first", isInit: true }), {
      readyMs: 0,
      exitMs: 0,
      exitCode: 0,
    });
    assert.equal(fateOf(settings, { ...main, container: "setup", isInit: true }).exitCode, 2);
    assert.equal(fateOf(settings, main).exitMs, 5_000);
    assert.equal(fateOf(Settings.none, main).exitMs, Number.POSITIVE_INFINITY);
  });

  test("an image is pulled once, and may be there at a later try", () => {
    const settings = new Settings([{ "pull-delay": "3s", "pull-error": "no", "pull-error-probability": "0.5" }]);
    assert.equal(beginningOf(settings, main, 0).pullMs, 3_000);
    assert.equal(beginningOf(settings, { ...main, attempt: 1 }, 0).pullMs, 0);
    const tries = Array.from({ length: 50 }, (_, count) => beginningOf(settings, main, count).pullError);
    assert.ok(tries.includes(undefined) && tries.includes("no"));
  });

  test("who does not end in time is killed", () => {
    const settings = new Settings([{ "stop-delay": "5s", "stop-exit-code": "143" }]);
    assert.deepEqual(stopOf(settings, main, 30_000), { afterMs: 5_000, exitCode: 143 });
    assert.deepEqual(stopOf(settings, main, 2_000), { afterMs: 2_000, exitCode: 137 });
  });
});

describe("usage", () => {
  const of = (texts: Record<string, string>) => ({
    settings: new Settings([texts]),
    podUid: "u1",
    container: "web",
    startedAt: 1_000,
    requests: { cpu: 0.5, memory: 100 },
  });

  test("is what was requested where nobody says otherwise", () => {
    const { processors, cpuNanoseconds, memoryBytes } = usageAt(11_000, of({}));
    assert.deepEqual([processors, cpuNanoseconds, memoryBytes], [0.5, 5e9, 100]);
  });

  test("what varies stays in its range, and its sum only grows, as its rate says", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1_000, max: 10_000_000 }), fc.integer({ min: 1, max: 1_000 }), (at, step) => {
        const varying = of({ cpu: "100m-300m", memory: "1Mi-3Mi", "usage-period": "30s" });
        const [before, after] = [usageAt(at, varying), usageAt(at + step, varying)];
        assert.ok(before.processors >= 0.1 - 1e-9 && before.processors <= 0.3 + 1e-9);
        assert.ok(before.memoryBytes >= 2 ** 20 && before.memoryBytes <= 3 * 2 ** 20);
        const rate = (after.cpuNanoseconds - before.cpuNanoseconds) / (step * 1e6);
        assert.ok(rate >= 0.1 - 1e-3 && rate <= 0.3 + 1e-3, `rate ${rate}`);
      }),
    );
  });
});

describe("ranges of addresses", () => {
  test("give each address once until it is given back", () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 60 }), (takes) => {
        const range = new AddressRange("10.1.2.0/27");
        const held: string[] = [];
        for (const isTake of takes) {
          if (isTake && held.length < range.capacity) {
            const address = range.take();
            assert.ok(!held.includes(address));
            assert.ok(range.indexOf(address) !== undefined);
            held.push(address);
          } else if (held.length > 0) range.release(held.shift() ?? "");
        }
      }),
    );
  });

  test("refuse what they do not have", () => {
    const range = new AddressRange("10.1.2.0/30");
    range.claim("10.1.2.1");
    assert.equal(range.take(), "10.1.2.2");
    assert.throws(() => range.take(), { code: "SIMULATED_RANGE_EXHAUSTED" });
    assert.equal(range.indexOf("10.1.3.1"), undefined);
    for (const text of ["10.1.2.0", "10.1.2/24", "10.1.2.0/31", "::/64"])
      assert.throws(() => new AddressRange(text), { code: "SIMULATED_RANGE_INVALID" });
  });
});
