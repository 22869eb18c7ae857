import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "@fjord/kube";
import { quantitiesOf } from "@fjord/node/pod-status";
import { asksForLessThanNothing, guestRequests } from "./guest-requests.ts";

type PodSpec = NonNullable<Pod["spec"]>;
type Resources = NonNullable<PodSpec["containers"][number]["resources"]>;

const spec = (resources: Resources, more: Partial<PodSpec> = {}): PodSpec => ({
  containers: [{ name: "main", image: "x", resources }],
  ...more,
});
const asked = (given: PodSpec) => quantitiesOf(guestRequests(given));

test("a limit counts as a request where there is none, as the API server has it", () => {
  assert.deepEqual(asked(spec({ limits: { cpu: "64" } })), { cpu: "64" });
  assert.deepEqual(asked(spec({ limits: { cpu: "64", memory: "1Gi" }, requests: { cpu: "1" } })), {
    cpu: "1",
    memory: "1048576Ki",
  });
  const init = { name: "first", image: "x", resources: { limits: { cpu: "8" } } };
  assert.deepEqual(asked(spec({ requests: { cpu: "1" } }, { initContainers: [init] })), { cpu: "8" });
});

test("amounts of the pod as a whole hide none of its containers'", () => {
  const whole = { resources: { requests: { cpu: "1" } } };
  assert.deepEqual(asked(spec({ requests: { cpu: "64" } }, whole)), { cpu: "64" });
  assert.deepEqual(asked(spec({ requests: { cpu: "500m" } }, whole)), { cpu: "1" });
  assert.deepEqual(asked(spec({}, { resources: { limits: { memory: "2Ki" } } })), { memory: "2Ki" });
});

test("less than nothing is found wherever it stands", () => {
  const less = { cpu: "-64" };
  for (const given of [
    spec({ requests: less }),
    spec({ limits: less }),
    spec({}, { overhead: less }),
    spec({}, { resources: { limits: less } }),
    spec({}, { initContainers: [{ name: "i", image: "x", resources: { requests: less } }] }),
  ])
    assert.equal(asksForLessThanNothing(given), true, JSON.stringify(given));
  assert.equal(asksForLessThanNothing(spec({ requests: { cpu: "0" } })), false);
});
