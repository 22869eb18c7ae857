import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "@fjord/base";
import { Deployment, KubeClient, Node } from "@fjord/kube";
import { kubernetesSkip, startTestBed } from "./testing.ts";
import { waitFor } from "./wait.ts";

test("simulated nodes are Ready and take pods", { skip: kubernetesSkip() }, async () => {
  await using bed = await startTestBed({ simulatedNodes: 3 });
  const client = new KubeClient(bed.site("site-1").config);
  try {
    const { items } = await client.list(Node);
    assert.equal(items.length, 3);
    const labels = { app: "web" };
    await client.create(Deployment, {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web", namespace: "default" },
      spec: {
        replicas: 6,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: "web", image: "none" }] } },
      },
    });
    const available = await waitFor(
      async () => {
        const { status } = await client.get(Deployment, { name: "web", namespace: "default" });
        return status?.availableReplicas === 6;
      },
      { clock: systemClock, timeout: 60_000 },
    );
    assert.equal(available, true);
  } finally {
    await client.close();
  }
});
