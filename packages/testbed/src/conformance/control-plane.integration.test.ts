import assert from "node:assert/strict";
import { test } from "node:test";
import { findBinaries } from "../binaries/find.ts";
import { controlPlaneSets, startControlPlaneBed } from "./control-plane-bed.ts";
import { quickSimulatedSpecs } from "./quick-simulated-specs.ts";
import { runSuite } from "./run-suite.ts";
import { exactly } from "./suites.ts";

const { binaries, missing } = findBinaries({ env: process.env, sets: controlPlaneSets });
const lacking = missing.map(({ component }) => component.name).join(", ");
const skip = missing.length > 0 && `no ${lacking}: \`npm run testbed -- binaries --conformance\` gets them`;

test("microkube passes specs of Kubernetes' end-to-end suite", { skip }, async (t) => {
  await using place = await startControlPlaneBed({ target: "microkube", binaries, nodes: 3 });
  const result = await runSuite(place.site, {
    target: "microkube",
    binaries,
    focus: [exactly(quickSimulatedSpecs)],
    procs: 4,
    nodes: 3,
    signal: t.signal,
  });
  assert.deepEqual(result.reasons, {});
  assert.deepEqual(result.passed, quickSimulatedSpecs.toSorted());
});
