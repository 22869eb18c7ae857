import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  containerResources,
  cpuQuota,
  cpuShares,
  hugePageSize,
  linuxResources,
  updatedResources,
} from "./linux-resources.ts";
import { decode } from "./proto/decode.ts";
import { encode } from "./proto/encode.ts";
import { LinuxContainerResources } from "./proto/messages.ts";

test("a processor request becomes a weight that the kernel takes", () => {
  assert.equal(cpuShares(1000), 1024);
  assert.equal(cpuShares(100), 102);
  assert.equal(cpuShares(1), 2);
  assert.equal(cpuShares(undefined), 2);
  assert.equal(cpuShares(10_000_000), 262_144);
});

test("a processor limit becomes time in each tenth of a second", () => {
  assert.equal(cpuQuota(500), 50_000);
  assert.equal(cpuQuota(1), 1000);
  assert.equal(cpuQuota(undefined), 0);
});

test("without a request, the limit is the weight", () => {
  assert.equal(linuxResources({ cpuLimit: 2000 }, { unified: false }).cpuShares, 2048n);
});

test("huge pages have the kernel's names", () => {
  assert.equal(hugePageSize("2Mi"), "2MB");
  assert.equal(hugePageSize("1Gi"), "1GB");
  const { hugepageLimits } = linuxResources({ hugePages: { "2Mi": 4_194_304 } }, { unified: false });
  assert.deepEqual(hugepageLimits, [{ pageSize: "2MB", limit: 4_194_304n }]);
});

test("a container ends as a whole only where the kernel can do that", () => {
  assert.deepEqual(linuxResources({}, { unified: true }).unified, { "memory.oom.group": "1" });
  assert.deepEqual(linuxResources({}, { unified: false }).unified, {});
});

test("a limit that was taken away is lifted", () => {
  const { cpuQuota: quota, memoryLimitInBytes } = updatedResources({ cpuRequest: 100 }, { unified: false });
  assert.deepEqual([quota, memoryLimitInBytes], [-1n, -1n]);
  assert.equal(updatedResources({ memoryLimit: 5 }, { unified: false }).memoryLimitInBytes, 5n);
});

test("limits come back as they went", () => {
  const limits = fc.record({
    cpuLimit: fc.integer({ min: 10, max: 256_000 }),
    memoryLimit: fc.integer({ min: 1, max: 2 ** 50 }),
    oomScoreAdjust: fc.integer({ min: 1, max: 1000 }),
  });
  fc.assert(
    fc.property(limits, ({ cpuLimit, memoryLimit, oomScoreAdjust }) => {
      const given = { cpuLimit, memoryLimit, oomScoreAdjust };
      const message = received(linuxResources(given, { unified: true }));
      const { cpuRequest: _, ...back } = containerResources(message);
      assert.deepEqual(back, given);
    }),
  );
});

test("a request comes back close to what it was, never as less", () => {
  fc.assert(
    fc.property(fc.integer({ min: 3, max: 256_000 }), (cpuRequest) => {
      const message = received(linuxResources({ cpuRequest }, { unified: true }));
      const back = containerResources(message).cpuRequest ?? 0;
      assert.ok(Math.abs(back - cpuRequest) <= 1, `${cpuRequest} became ${back}`);
    }),
  );
});

/** As it comes back over the wire. */
function received(given: ReturnType<typeof linuxResources>): LinuxContainerResources {
  return decode(LinuxContainerResources, encode(LinuxContainerResources, given));
}
