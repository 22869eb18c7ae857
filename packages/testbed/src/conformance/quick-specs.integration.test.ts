import assert from "node:assert/strict";
import { test } from "node:test";
import { findBinaries } from "../binaries/find.ts";
import { findNodePackages, type NodeTools } from "../binaries/node-packages.ts";
import { conformanceSkip } from "../nodes/testing.ts";
import { conformanceSets, startConformanceBed } from "./conformance-bed.ts";
import { quickSpecs } from "./quick-specs.ts";
import { runSuite } from "./run-suite.ts";
import { exactly } from "./suites.ts";

test("Fjord's node passes specs of Kubernetes' end-to-end suite", { skip: conformanceSkip() }, async (t) => {
  const { binaries } = findBinaries({ env: process.env, sets: conformanceSets("fjord") });
  const tools = findNodePackages({ env: process.env }) as NodeTools;
  await using place = await startConformanceBed({ target: "fjord", binaries, tools });
  const result = await runSuite(place.site, {
    target: "fjord",
    binaries,
    focus: [exactly(quickSpecs)],
    procs: 8,
    signal: t.signal,
  });
  assert.deepEqual(result.reasons, {});
  assert.deepEqual(result.passed, quickSpecs.toSorted());
});
