import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  Contract,
  newObject,
  OFFLOADED_LABEL,
  Offloading,
  TwinNamespace,
  tenantNamespace,
  VirtualNode,
} from "@fjord/api";
import { isNotFound, type KubeClient, Namespace, Node, Pod } from "@fjord/kube";
import { kubernetesSkip, startTestBed } from "@fjord/testbed/testing";
import { Continuum, fjord } from "../../../../testbed/src/agents/index.ts";
import { eventually } from "./test-eventually.ts";

const SITES = ["wave", "reef"] as const;

describe("an Offloading", { skip: kubernetesSkip(), timeout: 120_000 }, () => {
  let continuum: Continuum;
  let home: KubeClient;
  let there: KubeClient;
  let provider = "";
  let consumer = "";

  before(async () => {
    const bed = await startTestBed({ sites: 2, simulatedNodes: 1 });
    continuum = new Continuum(bed);
    await continuum.startAgents();
    home = continuum.client("site-1");
    there = continuum.client("site-2");
    await continuum.share("site-2");
    await continuum.peer("site-1", "site-2");
    await eventually(
      async () => (await home.list(Node, { labelSelector: "fjord.dev/virtual-node" })).items.length === 1,
    );
    const [contract] = (await home.list(Contract)).items;
    ({ provider, consumer } = contract?.spec.terms ?? { provider: "", consumer: "" });
  });

  after(async () => {
    await Promise.all([home?.close(), there?.close()]);
    await continuum?.[Symbol.asyncDispose]();
  });

  const add = async (name: string, spec: Partial<Offloading["spec"]> = {}) => {
    await home.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
    await offload(name, spec);
  };
  const offload = (namespace: string, spec: Partial<Offloading["spec"]> = {}) =>
    home.create(Offloading, newObject(Offloading, { metadata: { name: "offloading", namespace }, spec }));
  const get = (namespace: string) => missing(home.get(Offloading, { name: "offloading", namespace }));
  const reason = async (namespace: string) => (await get(namespace))?.status?.sites?.[0]?.conditions?.[0]?.reason;
  const twin = async (name: string) => missing(there.get(Namespace, { name }));
  const request = (name: string) => missing(there.get(TwinNamespace, { name, namespace: tenantNamespace(consumer) }));
  const remove = (namespace: string) => home.delete(Offloading, { name: "offloading", namespace });

  it("names its twins as it is told, however long the names are", async () => {
    const long = `a${"long".repeat(15)}`;
    await Promise.all([
      add("shop"),
      add("same", { naming: { strategy: "Same" } }),
      add("chosen", { naming: { strategy: "Chosen", name: "theirs" } }),
      add(long),
      add("taken", { naming: { strategy: "Chosen", name: "kube-system" } }),
      add("refused", { naming: { strategy: "Chosen", name: "kube-other" } }),
    ]);
    await eventually(async () => (await reason("shop")) === "TwinReady");
    await eventually(async () => (await twin(`shop-${consumer}`)) !== undefined);
    await eventually(async () => (await twin("same")) !== undefined);
    await eventually(async () => (await twin("theirs")) !== undefined);
    await eventually(async () => (await reason(long)) === "TwinReady");
    const [site] = (await get(long))?.status?.sites ?? [];
    assert.equal(site?.site, provider);
    assert.ok((site?.twin?.length ?? 0) <= 63 && site?.twin?.endsWith(`-${consumer}`));
    await eventually(async () => (await reason("refused")) === "NameRefused");
    await eventually(async () => (await reason("taken")) === "NameRefused");
  });
});

async function missing<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
