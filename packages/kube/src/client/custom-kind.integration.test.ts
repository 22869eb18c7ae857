import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import type { Kind, KubeObject } from "@fjord/base";
import { siteFiles } from "@fjord/testbed";
import { type SharedTestSite, sharedTestSite } from "@fjord/testbed/shared-sites";
import { type KubernetesMinor, kubernetesSkip } from "@fjord/testbed/testing";
import { Discovery } from "../discovery/discovery.ts";
import { CustomResourceDefinition, type DynamicObject } from "../kinds/index.ts";
import { Transport } from "../transport/transport.ts";
import { isGone, isInvalid } from "./api-error.ts";
import { KubeClient } from "./client.ts";

interface Boat extends KubeObject {
  spec?: { length?: number; replicas?: number };
  status?: { afloat?: boolean };
}

for (const kubernetes of ["1.36", "1.35"] satisfies KubernetesMinor[]) {
  describe(`a custom kind in Kubernetes ${kubernetes}`, { skip: kubernetesSkip(kubernetes) }, () => tests(kubernetes));
}

function tests(kubernetes: KubernetesMinor): void {
  let site: SharedTestSite;
  let client: KubeClient;
  let discovery: Discovery;
  let boats: Kind<Boat>;

  before(async () => {
    site = await sharedTestSite({ kubernetes });
    client = new KubeClient(site.config);
    discovery = new Discovery(client, { missIntervalMs: 50 });
    await discovery.surface();
    await client.create(CustomResourceDefinition, boatDefinition());
    const name = "boats.fjord.example";
    for await (const { object } of client.watch(CustomResourceDefinition, { fieldSelector: `metadata.name=${name}` })) {
      const { conditions } = (object as CustomResourceDefinition).status ?? {};
      if (conditions?.some(({ type, status }) => type === "Established" && status === "True")) break;
    }
  });
  after(async () => {
    await client?.close();
  });

  function boat(name: string, length: number): Boat {
    return { apiVersion: "fjord.example/v1", kind: "Boat", metadata: { name }, spec: { length } };
  }

  test("is found as soon as the server serves it", async () => {
    for (let found: Kind<Boat> | undefined; found === undefined; ) {
      found = await discovery.resolve<Boat>("bo").catch(() => undefined);
      if (found !== undefined) boats = found;
    }
    const expected = { group: "fjord.example", version: "v1", kind: "Boat", plural: "boats", namespaced: true };
    assert.deepEqual(boats, expected);
    assert.deepEqual((await discovery.resource("boat")).subresources.toSorted(), ["scale", "status"]);
  });

  test("has every verb, with types of its own or none", async () => {
    const created = await client.create(boats, boat("one", 12));
    assert.equal(created.spec?.replicas, 1);
    await assert.rejects(client.create(boats, boat("small", -1)), isInvalid);
    await client.updateStatus(boats, { ...created, status: { afloat: true } });
    await client.scale(boats, { name: "one" }, 3);
    const untyped = await discovery.resolve("boats.fjord.example");
    const dynamic: DynamicObject = await client.get(untyped, { name: "one" });
    assert.deepEqual(dynamic.spec, { length: 12, replicas: 3 });
    assert.deepEqual(dynamic.status, { afloat: true });
    const longer = { metadata: { name: "one" }, spec: { length: 13 } };
    assert.equal((await client.apply(boats, longer, { fieldManager: "x", force: true })).spec?.length, 13);
    const { items } = await client.list(boats);
    assert.deepEqual(
      items.map(({ kind, spec }) => [kind, spec?.length]),
      [["Boat", 13]],
    );
    await client.delete(boats, { name: "one" }, { propagationPolicy: "Background" });
  });

  test("a watch from a revision that the server does not remember is told so", async () => {
    // The server began to remember this kind when it was installed.
    const reading = (async () => {
      for await (const _ of client.watch(boats, { resourceVersion: "1" })) assert.fail("no event was expected");
    })();
    await assert.rejects(reading, isGone);
  });

  test("pages are read on when the server has forgotten the moment they began", async () => {
    for (const name of ["a", "b", "c", "d"]) await client.create(boats, boat(name, 9));
    const { metadata } = await client.list(boats, { namespace: "default", limit: 2 });
    // A server remembers longer than its store does, so the token is dated back to before the kind was there.
    const token = JSON.parse(Buffer.from(metadata.continue ?? "", "base64url").toString());
    const old = Buffer.from(JSON.stringify({ ...token, rv: 2 })).toString("base64url");
    await compact(site, metadata.resourceVersion as string);
    const options = { namespace: "default", limit: 1, continue: old };
    await assert.rejects(client.list(boats, options), isGone);
    const seen: (string | undefined)[] = [];
    for await (const { items } of client.listAll(boats, options)) {
      seen.push(...items.map(({ metadata }) => metadata.name));
    }
    assert.deepEqual(seen, ["c", "d"]);
  });
}

/** Makes the store forget what was before a revision, as it does by itself every five minutes. */
async function compact(site: SharedTestSite, revision: string): Promise<void> {
  const files = siteFiles(site.site.layout);
  const [ca, cert, key] = await Promise.all([
    readFile(files.certificate("etcd-ca"), "utf8"),
    readFile(files.certificate("etcd-client"), "utf8"),
    readFile(files.key("etcd-client"), "utf8"),
  ]);
  const server = `https://127.0.0.1:${site.site.layout.ports.etcd}`;
  const etcd = new Transport({ server, namespace: "", tls: { ca, cert, key } });
  const body = JSON.stringify({ revision, physical: true });
  const answer = await etcd.request({ method: "POST", path: "/v3/kv/compaction", action: "compact etcd", body });
  assert.equal(answer.statusCode, 200, answer.body.toString());
  await etcd.close();
}

function boatDefinition(): CustomResourceDefinition {
  const spec = {
    type: "object",
    properties: { length: { type: "integer", minimum: 1 }, replicas: { type: "integer", default: 1 } },
  };
  const status = { type: "object", properties: { afloat: { type: "boolean" }, replicas: { type: "integer" } } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "boats.fjord.example" },
    spec: {
      group: "fjord.example",
      scope: "Namespaced",
      names: { plural: "boats", singular: "boat", kind: "Boat", shortNames: ["bo"] },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          subresources: {
            status: {},
            scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
          },
          schema: { openAPIV3Schema: { type: "object", properties: { spec, status } } },
        },
      ],
    },
  };
}
