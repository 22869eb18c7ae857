import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ManualClock } from "@fjord/base/testing";
import { KnownTenantAddresses, type KnownTenantAddressesOptions } from "./known-tenant-addresses.ts";

type Own = ReturnType<KnownTenantAddressesOptions["own"]["nodes"]>[number];

const [ana, bob, third] = ["a".repeat(26), "b".repeat(26), "c".repeat(26)];

const plan = (site: string, called: string[], more: object = {}) => ({
  metadata: { name: site },
  spec: { site, own: [], peer: called.map((each) => ({ range: each, called: each })), ...more },
});
const guest = (consumer: string, ip: string, spec: object = {}, status: object = {}) => ({
  metadata: { name: ip, namespace: "shop", labels: { "fjord.dev/consumer": consumer } },
  spec,
  status: { podIP: ip, podIPs: [{ ip }], ...status },
});
const node = (podCIDRs: string[], ...addresses: string[]) =>
  ({
    metadata: {},
    spec: { podCIDRs },
    status: { addresses: addresses.map((address) => ({ type: "InternalIP", address })) },
  }) as unknown as Own;

function provider() {
  const objects: Record<string, object[]> = { addressplans: [], pods: [] };
  const nodes = [node(["10.42.0.0/24", "fd42::/80"], "192.168.7.4", "node-1")];
  const state = {
    network: undefined as object | undefined,
    linked: new Set<string>(),
    hasSynced: true,
    knowsNodes: true,
  };
  const clock = new ManualClock();
  const [listeners, planned] = [new Set<() => void>(), new Set<() => void>()];
  const open = ({ plural }: { plural: string }) => ({
    cache: {
      list: () => objects[plural],
      addHandler: ({ onAdd }: { onAdd(): void }) => {
        if (plural === "addressplans") planned.add(onAdd);
      },
      get hasSynced() {
        return state.hasSynced;
      },
    },
  });
  const known = new KnownTenantAddresses({
    home: { caches: { open }, clock } as unknown as KnownTenantAddressesOptions["home"],
    own: {
      object: () => ({ spec: { network: state.network } }) as never,
      nodes: () => nodes,
      knowsNodes: () => state.knowsNodes,
      onChange: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    serviceRanges: ["10.96.0.0/16", "192.0.2.1/32"],
    isLinked: (consumer) => state.linked.has(consumer),
  });
  const changed = () => {
    for (const listener of listeners) listener();
  };
  const plans = {
    push(...some: object[]) {
      objects.addressplans?.push(...some);
      for (const listener of planned) listener();
    },
  };
  return { known, state, nodes, clock, changed, plans, pods: objects.pods };
}

const may = (known: KnownTenantAddresses, ...addresses: string[]) =>
  addresses.filter((address) => known.endpointProblem(ana, [address]) === undefined);

describe("what a provider knows of addresses", () => {
  test("are its nodes, their pods and its Services, where nobody has a link", () => {
    const { known } = provider();
    const asked = ["10.42.0.9", "fd42::9", "192.168.7.4", "10.96.3.4", "192.0.2.1", "10.43.0.9", "192.168.7.5"];
    assert.deepEqual(may(known, ...asked), ["10.43.0.9", "192.168.7.5"]);
    assert.match(
      known.endpointProblem(ana, ["10.43.0.9", "10.42.0.9"]) ?? "",
      /^10\.42\.0\.9 is one of the provider's/,
    );
  });

  test("are the ranges that its owner names in place of what nodes say", () => {
    const { known, state } = provider();
    state.network = { podRanges: ["10.77.0.0/16"], reserved: ["172.20.0.0/16"], names: [] };
    assert.deepEqual(may(known, "10.77.1.1", "172.20.0.1", "10.96.0.1", "192.168.7.4", "10.42.0.9"), ["10.42.0.9"]);
  });

  test("are names of the consumer, of whom it introduces, and of others", () => {
    const { known, plans, state } = provider();
    assert.deepEqual(may(known, "240.0.1.1"), ["240.0.1.1"]);
    plans.push(plan(ana, ["240.0.0.0/24"]), plan(bob, ["240.0.1.0/24"]));
    plans.push(plan(third, ["240.0.2.0/24"], { scope: "Guests", introducedBy: [bob, ana] }));
    const asked = ["240.0.0.1", "240.0.1.1", "240.0.2.1", "203.0.113.5"];
    assert.deepEqual(may(known, ...asked), ["240.0.0.1", "240.0.2.1", "203.0.113.5"]);
    state.linked.add(ana);
    assert.deepEqual(may(known, ...asked), ["240.0.0.1", "240.0.2.1"]);
    assert.equal(known.outsideProblem(ana, "203.0.113.5"), undefined);
    assert.match(known.outsideProblem(ana, "240.0.1.1") ?? "", /another site/);
    assert.match(known.outsideProblem(ana, "10.96.0.1") ?? "", /provider's own/);
  });

  test("are all others too for who says that there is a link, and has no name here yet", () => {
    const { known, plans, state } = provider();
    state.linked.add(ana);
    plans.push({ metadata: { name: ana }, spec: { site: ana, own: [], peer: [{ range: "10.50.0.0/16" }] } });
    assert.deepEqual(may(known, "203.0.113.5", "10.42.0.9"), ["203.0.113.5"]);
  });

  test("are guests of the consumer, and of nobody else, that have addresses of their own", () => {
    const { known, pods, plans, state } = provider();
    plans.push(plan(ana, ["240.0.0.0/24"]));
    state.linked.add(ana);
    pods?.push(guest(ana, "10.42.0.9"), guest(bob, "10.42.0.10"), guest(ana, "fd42::9"), guest(ana, "127.9.0.1"));
    pods?.push(guest(ana, "192.168.7.4", { hostNetwork: true }), guest(ana, "10.42.0.11", {}, { phase: "Succeeded" }));
    const asked = ["10.42.0.9", "10.42.0.10", "FD42:0::9", "127.9.0.1", "192.168.7.4", "10.42.0.11", "240.0.0.1"];
    assert.deepEqual(may(known, ...asked), ["10.42.0.9", "FD42:0::9", "127.9.0.1", "240.0.0.1"]);
  });

  test("are new nodes, a few seconds later", async () => {
    const { known, nodes, clock, changed } = provider();
    assert.deepEqual(may(known, "10.42.9.1"), ["10.42.9.1"]);
    nodes.push(node(["10.42.9.0/24"]));
    changed();
    await clock.advance(6_000);
    assert.deepEqual(may(known, "10.42.9.1"), []);
  });

  test("are too few while an agent starts", () => {
    const { known, state } = provider();
    assert.equal(known.isKnown(), true);
    state.knowsNodes = false;
    assert.equal(known.isKnown(), false);
    Object.assign(state, { knowsNodes: true, hasSynced: false });
    assert.equal(known.isKnown(), false);
  });
});
