import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { movePatch, type TemplateAffinity, termsFor } from "./move.ts";

const asked = (...terms: object[]): TemplateAffinity =>
  ({
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } },
  }) as TemplateAffinity;
const atWave = { key: "fjord.dev/site", operator: "In", values: ["wave-id"] };
const atHome = { key: "fjord.dev/site", operator: "DoesNotExist" };
const ssd = { key: "disk", operator: "In", values: ["ssd"] };

describe("moving a workload", () => {
  it("to a site, home, or anywhere", () => {
    assert.deepEqual(termsFor(undefined, { site: "wave-id" }), [{ matchExpressions: [atWave] }]);
    assert.deepEqual(termsFor(undefined, "home"), [{ matchExpressions: [atHome] }]);
    assert.equal(termsFor(undefined, "anywhere"), null);
  });

  it("forgets where it was moved to before", () => {
    assert.deepEqual(termsFor(asked({ matchExpressions: [atWave] }), "home"), [{ matchExpressions: [atHome] }]);
    assert.equal(termsFor(asked({ matchExpressions: [atHome] }), "anywhere"), null);
  });

  it("keeps what its owner asks of nodes, in each of the alternatives", () => {
    const gpu = { key: "gpu", operator: "Exists" };
    assert.deepEqual(
      termsFor(asked({ matchExpressions: [ssd, atHome] }, { matchExpressions: [gpu] }), { site: "wave-id" }),
      [{ matchExpressions: [ssd, atWave] }, { matchExpressions: [gpu, atWave] }],
    );
    assert.deepEqual(termsFor(asked({ matchExpressions: [ssd, atWave] }), "anywhere"), [{ matchExpressions: [ssd] }]);
  });

  it("is refused by the API where the workload has changed since", () => {
    const patch = movePatch({ metadata: { resourceVersion: "7" }, spec: {} }, "home") as { metadata: object };
    assert.deepEqual(patch.metadata, { resourceVersion: "7" });
  });
});
