import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultValues } from "./install-values.ts";
import { readValues } from "./values-schema.ts";

test("what is left out is the default, deep down too", () => {
  assert.deepEqual(readValues(undefined), defaultValues);
  const { image } = readValues({ image: { tag: "2" } });
  assert.deepEqual(image, { ...defaultValues.image, tag: "2" });
});

test("a wrong value is named with what it may be", () => {
  const faults: [object, RegExp][] = [
    [{ replica: 2 }, /there is no value replica; there are siteName, /],
    [{ replicas: 0 }, /replicas must be 1 to 9/],
    [{ replicas: "2" }, /replicas must be of type integer/],
    [{ tier: "space" }, /tier must be one of "", cloud, edge, device/],
    [{ endpoints: ["http://a"] }, /endpoints\[0\] cannot be "http:\/\/a". An address such as https:/],
    [{ gateway: { endpoint: "a" } }, /gateway\.endpoint cannot be "a". .* host and port, over UDP/],
    [{ image: { name: "x" } }, /there is no value image\.name/],
    [{ gateway: { nodeLabel: "a b" } }, /gateway\.nodeLabel cannot be "a b". Label of the nodes/],
    [{ nodeSelector: { a: 1 } }, /nodeSelector\.a must be of type string/],
  ];
  for (const [values, words] of faults) assert.throws(() => readValues(values), words);
});
