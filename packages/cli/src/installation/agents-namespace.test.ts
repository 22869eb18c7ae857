import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@fjord/base";
import { clusterConfig, Deployment, Job, KubeClient, PersistentVolumeClaim, Pod, ReplicaSet } from "@fjord/kube";
import { FaultServer } from "@fjord/testbed/fault-server";
import { refuseShared } from "./agents-namespace.ts";

const namespace = "fjord-system";
const { signal } = new AbortController();

const controlledBy = (kind: string, owner: Pick<KubeObject, "metadata">) => {
  const { name = "", uid = "" } = owner.metadata;
  return [{ apiVersion: "example.com/v1", kind, name, uid, controller: true }];
};
const strange = { metadata: { name: "main", uid: "none-that-is-looked-at" } };

async function withServer(run: (server: FaultServer, refused: () => Promise<string>) => Promise<void>): Promise<void> {
  await using server = await FaultServer.start();
  const client = new KubeClient(clusterConfig({ server: server.url }));
  const refused = () =>
    refuseShared(client, namespace, signal).then(
      () => "",
      ({ message }: Error) => message,
    );
  await run(server, refused).finally(() => client.close());
}

test("what a controller of a kind that is not known runs in the agent's namespace is named", async () => {
  await withServer(async (server, refused) => {
    server.create(Pod, {
      metadata: { name: "db-0", namespace, ownerReferences: controlledBy("Database", strange) },
    });
    assert.match(await refused(), /has Pod db-0, none of it Fjord's/);
    server.create(PersistentVolumeClaim, {
      metadata: { name: "data", namespace, ownerReferences: controlledBy("Database", strange) },
    });
    const metadata = { name: "web-7", namespace, ownerReferences: controlledBy("Rollout", strange) };
    const rolled = server.create(ReplicaSet, { metadata });
    server.create(Pod, {
      metadata: { name: "web-7-a", namespace, ownerReferences: controlledBy("ReplicaSet", rolled) },
    });
    assert.match(await refused(), /has ReplicaSet web-7, PersistentVolumeClaim data, Pod db-0, none/);
  });
});

test("a Job that nobody controls is named, before it has a pod and without those that it has", async () => {
  await withServer(async (server, refused) => {
    const job = server.create(Job, { metadata: { name: "import", namespace } });
    assert.match(await refused(), /has Job import, none of it/);
    server.create(Pod, { metadata: { name: "import-a", namespace, ownerReferences: controlledBy("Job", job) } });
    assert.match(await refused(), /has Job import, none of it/);
  });
});

test("what Fjord has in its namespace, and what that has made, is nobody else's", async () => {
  await withServer(async (server, refused) => {
    const labels = { "app.kubernetes.io/name": "fjord" };
    const agent = server.create(Deployment, { metadata: { name: "fjord-agent", namespace, labels } });
    const made = server.create(ReplicaSet, {
      metadata: { name: "fjord-agent-1", namespace, labels, ownerReferences: controlledBy("Deployment", agent) },
    });
    server.create(Pod, {
      metadata: { name: "fjord-agent-1-a", namespace, ownerReferences: controlledBy("ReplicaSet", made) },
    });
    assert.equal(await refused(), "");
  });
});
