import assert from "node:assert/strict";
import { test } from "node:test";
import { amountsText, resourcesOf, withChanges } from "./resources.ts";

test("amounts are read from options, and none takes one back", () => {
  assert.deepEqual(resourcesOf({ cpu: "500m", pods: "none", resource: ["nvidia.com/gpu=1"] }), {
    cpu: "500m",
    pods: null,
    "nvidia.com/gpu": "1",
  });
  assert.deepEqual(resourcesOf({ resource: [] }), {});
  assert.throws(() => resourcesOf({ cpu: "much", resource: [] }), /--cpu cannot be much: it must be an amount/);
  for (const pods of ["1.5", "ten"])
    assert.throws(() => resourcesOf({ pods, resource: [] }), new RegExp(`--pods cannot be ${pods}: it is counted`));
  assert.throws(
    () => resourcesOf({ resource: ["nvidia.com/gpu=500m"] }),
    /--resource nvidia.com\/gpu cannot be 500m: it is counted/,
  );
  for (const nothing of ["0", "0.0", "0Gi", "000m"])
    assert.throws(
      () => resourcesOf({ memory: nothing, resource: [] }),
      /--memory cannot be .*: `none` asks for none of it/,
    );
  assert.throws(
    () => resourcesOf({ resource: ["nvidia.com/gpu=0"] }),
    /--resource nvidia.com\/gpu cannot be 0: `none`/,
  );
  assert.deepEqual(resourcesOf({ cpu: "1.5", pods: "2", resource: [] }), { cpu: "1.5", pods: "2" });
  for (const wrong of ["=1", "gpu", "gpu=", "gpu=1=2"])
    assert.throws(() => resourcesOf({ resource: [wrong] }), /--resource cannot be .*: it must be name=amount/);
});

test("a resource that is asked for twice is refused: one of the two amounts would be passed over", () => {
  assert.throws(() => resourcesOf({ cpu: "2", resource: ["cpu=1"] }), /--cpu cannot be 1: 2 was asked for too/);
  assert.throws(
    () => resourcesOf({ resource: ["example.com/fpga=1", "example.com/fpga=2"] }),
    /--resource example.com\/fpga cannot be 2: 1 was asked for too/,
  );
});

test("what is not named stays, what is named changes or goes", () => {
  const before = { cpu: "2", memory: "1Gi", pods: "5" };
  assert.deepEqual(withChanges(before, { cpu: "3" }), { cpu: "3", memory: "1Gi", pods: "5" });
  assert.deepEqual(withChanges(before, { pods: null, gpu: "1" }), { cpu: "2", memory: "1Gi", gpu: "1" });
  assert.deepEqual(withChanges({}, { pods: null }), {});
  assert.equal(amountsText(before), "cpu=2,memory=1Gi,pods=5");
});
