import assert from "node:assert/strict";
import { test } from "node:test";
import { TestApi } from "../../server/test-api.ts";

const jobs = "/apis/batch/v1/namespaces/default/jobs";
const template = (more: object = {}) => ({
  spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }], ...more },
});

test("of a job that has not begun, labels and where its pods run may change, and what they run may not", async () => {
  await using api = await TestApi.start();
  const nodeAffinity = {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchExpressions: [{ key: "a", operator: "Exists" }] }],
    },
  };
  for (const [name, of] of [
    ["plain", template()],
    ["placed", template({ affinity: { nodeAffinity } })],
  ] as const) {
    const made = await api.post(jobs, { metadata: { name }, spec: { suspend: true, template: of } });
    assert.equal(made.code, 201, made.text);
    const changed = async (change: object) => {
      const { code, body } = await api.patch(`${jobs}/${name}`, change, "strategic-merge-patch+json");
      return code === 200 ? "changed" : body.message.replace(/^.*\}: /, "");
    };
    const ofPods = (spec: object) => ({ spec: { template: { spec } } });
    assert.equal(await changed({ metadata: { labels: { a: "b" } } }), "changed", name);
    assert.equal(await changed(ofPods({ nodeSelector: { a: "b" } })), "changed", name);
    assert.equal(await changed(ofPods({ affinity: { nodeAffinity } })), "changed", name);
    assert.equal(await changed(ofPods({ affinity: null })), "changed", name);
    assert.equal(await changed(ofPods({ containers: [{ name: "c", image: "j" }] })), "field is immutable", name);
  }
});
