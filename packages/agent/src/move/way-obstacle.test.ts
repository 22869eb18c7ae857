import assert from "node:assert/strict";
import { test } from "node:test";
import { newObject, OFFLOADING_RULE_LABEL, Offloading } from "@fjord/api";
import type { KubeClient } from "@fjord/kube";
import { homeObstacle } from "./way-obstacle.ts";

const signal = new AbortController().signal;
const obstacle = (pods: "Both" | "Remote", labels: Record<string, string> = {}) => {
  const metadata = { name: "offloading", namespace: "shop", labels };
  const found = newObject(Offloading, { metadata, spec: { pods } } as Offloading);
  return homeObstacle({ get: async () => found } as unknown as KubeClient, "shop", signal);
};

test("where pods may not run at home, the command that changes it is one that is not refused", async () => {
  assert.equal(await obstacle("Both"), undefined);
  const own = "pods of namespace shop run at other sites only: `fjord offload shop --pods=Both` changes that";
  assert.equal(await obstacle("Remote"), own);
  assert.match(
    (await obstacle("Remote", { [OFFLOADING_RULE_LABEL]: "shops" })) ?? "",
    /only: an OffloadingRule says so \(`kubectl edit offloadingrule`\); where `kubectl label offloading offloading fjord\.dev\/offloading-rule- -n shop` has made it the namespace's own, `fjord offload/,
  );
});
