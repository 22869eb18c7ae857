import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Kind } from "@fjord/base";
import { type SharedTestSite, sharedTestSite } from "@fjord/testbed/shared-sites";
import { type KubernetesMinor, kubernetesSkip } from "@fjord/testbed/testing";
import { KubeClient } from "../client/client.ts";
import * as kinds from "../kinds/index.ts";
import { APIService, Service } from "../kinds/index.ts";
import { Discovery } from "./discovery.ts";

for (const kubernetes of ["1.36", "1.35"] satisfies KubernetesMinor[]) {
  describe(`discovery of Kubernetes ${kubernetes}`, { skip: kubernetesSkip(kubernetes) }, () => tests(kubernetes));
}

function tests(kubernetes: KubernetesMinor): void {
  let site: SharedTestSite;
  let client: KubeClient;
  let discovery: Discovery;

  before(async () => {
    site = await sharedTestSite({ kubernetes });
    client = new KubeClient(site.config);
    discovery = new Discovery(client, { missIntervalMs: 50 });
  });
  after(async () => {
    await client?.close();
  });

  test("tells the version", async () => {
    const { major, minor, gitVersion } = await discovery.serverVersion();
    assert.equal(`${major}.${minor}`, kubernetes);
    assert.ok(gitVersion.startsWith(`v${kubernetes}.`));
  });

  test("the built-in kinds here are the server's", async () => {
    const consts = (Object.values(kinds) as unknown[]).filter((value) => typeof value === "object") as Kind[];
    assert.ok(consts.length > 40);
    const missing: string[] = [];
    for (const kind of consts) {
      const apiVersion = kind.group === "" ? kind.version : `${kind.group}/${kind.version}`;
      const served = await discovery.resolve({ apiVersion, kind: kind.kind }).catch(() => undefined);
      if (served === undefined) missing.push(kind.kind);
      else assert.deepEqual(served, kind);
    }
    // Stable only since 1.36.
    const young = ["MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"];
    assert.deepEqual(missing, kubernetes === "1.35" ? young : []);
  });

  test("finds what kubectl finds by short names", async () => {
    for (const [short, kind] of Object.entries({
      po: "Pod",
      deploy: "Deployment",
      cm: "ConfigMap",
      crd: "CustomResourceDefinition",
    })) {
      assert.equal((await discovery.resolve(short)).kind, kind);
    }
  });

  test("an aggregated API that is down hides only itself", async () => {
    const metadata = { name: "v1.down.example" };
    const port = [{ port: 443 }];
    await client.create(Service, {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "down" },
      spec: { ports: port },
    });
    await client.create(APIService, {
      apiVersion: "apiregistration.k8s.io/v1",
      kind: "APIService",
      metadata,
      spec: {
        group: "down.example",
        version: "v1",
        service: { namespace: "default", name: "down" },
        groupPriorityMinimum: 100,
        versionPriority: 1,
        insecureSkipTLSVerify: true,
      },
    });
    for (let named = false; !named; ) {
      discovery.invalidate();
      const { unanswered } = await discovery.surface();
      named = unanswered.some(({ groupVersion }) => groupVersion === "down.example/v1");
    }
    assert.equal((await discovery.resolve("deploy")).kind, "Deployment");
    await assert.rejects(discovery.resolve("things"), /down\.example\/v1 did not answer/);
    await client.delete(APIService, metadata);
  });
}
