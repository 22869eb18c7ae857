import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { fileFollower, type SpecEnd, SuiteLog } from "./suite-log.ts";

const output = `Running Suite: Kubernetes e2e suite
Will run 3 of 7579 specs
Running in parallel across 8 processes
------------------------------
• [2.250 seconds]
[sig-node] Lease lease API should be available [Conformance] [sig-node, Conformance]
k8s.io/kubernetes@v1.36.3/test/e2e/common/node/lease.go:73
------------------------------
S [SKIPPED] [0.016 seconds]
[sig-node] Pods [It] should run on Windows [sig-node]
------------------------------
• [FAILED] [30.100 seconds]
[sig-node] Pods [It] should be updated [NodeConformance] [Conformance] [sig-node, NodeConformance, Conformance]
`;

test("a reader hears of each spec as it ends, however the output comes in pieces", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(output.length), { maxLength: 20 }), (cuts) => {
      const totals: number[] = [];
      const specs: SpecEnd[] = [];
      const log = new SuiteLog({ total: (count) => totals.push(count), ended: (end) => specs.push(end) });
      const places = [0, ...cuts.toSorted((a, b) => a - b), output.length];
      for (const [i, place] of places.slice(1).entries()) log.write(output.slice(places[i], place));
      assert.deepEqual(totals, [3]);
      assert.deepEqual(specs, [
        { name: "[sig-node] Lease lease API should be available [Conformance]", outcome: "passed", seconds: 2.25 },
        { name: "[sig-node] Pods should run on Windows", outcome: "skipped", seconds: 0.016 },
        {
          name: "[sig-node] Pods should be updated [NodeConformance] [Conformance]",
          outcome: "failed",
          seconds: 30.1,
        },
      ]);
    }),
  );
});

test("with one process a spec that passed is named before it runs", () => {
  const names: string[] = [];
  const log = new SuiteLog({ ended: ({ name }) => names.push(name) });
  log.write(`Will run 2 of 7579 specs
------------------------------
[sig-node] Lease lease API should be available [Conformance] [sig-node, Conformance]
k8s.io/kubernetes@v1.36.3/test/e2e/common/node/lease.go:73
  STEP: Creating a kubernetes client @ 11/15/26 15:31:00.000
• [2.250 seconds]
------------------------------
[sig-node] Pods should be updated [NodeConformance] [sig-node, NodeConformance]
  STEP: Creating a kubernetes client @ 11/15/26 15:31:03.000
• [FAILED] [30.100 seconds]
[sig-node] Pods [It] should be updated [NodeConformance] [sig-node, NodeConformance]
------------------------------
`);
  assert.deepEqual(names, [
    "[sig-node] Lease lease API should be available [Conformance]",
    "[sig-node] Pods should be updated [NodeConformance]",
  ]);
});

test("a file is followed as it grows, characters cut in two included", (t) => {
  const directory = mkdtempSync(join(tmpdir(), "suite-log-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const file = join(directory, "log");
  const bytes = Buffer.from("• one\n");
  writeFileSync(file, bytes.subarray(0, 2));
  const news = fileFollower(file);
  assert.equal(news(), "");
  appendFileSync(file, bytes.subarray(2));
  assert.equal(news(), "• one\n");
  assert.equal(news(), "");
});
