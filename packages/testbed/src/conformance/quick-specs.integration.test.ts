import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { findBinaries } from "../binaries/find.ts";
import { findNodePackages, type NodeTools } from "../binaries/node-packages.ts";
import { conformanceSkip } from "../nodes/testing.ts";
import { conformanceSets, startConformanceBed } from "./conformance-bed.ts";
import { quickBorderSpecs } from "./quick-border-specs.ts";
import { quickSpecs } from "./quick-specs.ts";
import { runSuite } from "./run-suite.ts";
import { exactly } from "./suites.ts";

const judged = [
  { target: "fjord", title: "Fjord's node passes them", specs: quickSpecs },
  { target: "border", title: "they pass where the only node stands for another site", specs: quickBorderSpecs },
] as const;

describe("specs of Kubernetes' end-to-end suite", { skip: conformanceSkip() }, () => {
  for (const { target, title, specs } of judged) {
    test(title, async (t) => {
      const { binaries } = findBinaries({ env: process.env, sets: conformanceSets(target) });
      const tools = findNodePackages({ env: process.env }) as NodeTools;
      await using place = await startConformanceBed({ target, binaries, tools });
      const result = await runSuite(place.site, {
        target,
        binaries,
        focus: [exactly(specs)],
        procs: 8,
        signal: t.signal,
      });
      assert.deepEqual(result.reasons, {});
      assert.deepEqual(result.passed, specs.toSorted());
    });
  }
});
