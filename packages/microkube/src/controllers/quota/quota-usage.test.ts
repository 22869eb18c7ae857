import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@fjord/base";
import type { ResourceQuota } from "@fjord/kube";
import { quotaEvaluator } from "../../admission/quota/quota-evaluator.ts";
import { type Counted, quotaUsage } from "./quota-usage.ts";

const NOW = Date.UTC(2030, 0, 1);
const quota = (hard: object, scopes?: string[]) => ({ spec: { hard, scopes } }) as unknown as ResourceQuota;
function counted(group: string, plural: string, objects: object[]): Counted {
  const evaluator = quotaEvaluator({ group, plural });
  assert.ok(evaluator);
  return { evaluator, objects: objects as KubeObject[] };
}
const pod = (cpu: string, phase = "Running", spec: object = {}) => ({
  metadata: {},
  spec: { containers: [{ name: "c", resources: cpu === "" ? {} : { requests: { cpu } } }], ...spec },
  status: { phase },
});

test("what there is adds up, and what has ended uses nothing", () => {
  const pods = counted("", "pods", [pod("250m"), pod("1"), pod("4", "Succeeded")]);
  const maps = counted("", "configmaps", [{ metadata: {} }, { metadata: {} }]);
  const deployments = counted("apps", "deployments", [{ metadata: {} }]);
  const hard = { pods: "9", "requests.cpu": "9", configmaps: "9", "count/deployments.apps": "9", secrets: "9" };
  assert.deepEqual(quotaUsage(quota(hard), [pods, maps, deployments], NOW), {
    pods: "2",
    "requests.cpu": "1250m",
    configmaps: "2",
    "count/deployments.apps": "1",
    secrets: "0",
  });
});

test("scopes choose which pods count", () => {
  const pods = counted("", "pods", [pod(""), pod("1"), pod("", "Running", { activeDeadlineSeconds: 5 })]);
  const used = (...scopes: string[]) => quotaUsage(quota({ pods: "9" }, scopes), [pods], NOW).pods;
  assert.deepEqual(
    [used("BestEffort"), used("NotBestEffort"), used("Terminating"), used("BestEffort", "Terminating")],
    ["2", "1", "1", "1"],
  );
});
