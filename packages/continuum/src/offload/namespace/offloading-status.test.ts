import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { newObject, Offloading, TwinNamespace } from "@fjord/api";
import { keptStatus, offloadingStatus } from "./offloading-status.ts";
import type { TwinFacts } from "./twin-step.ts";

const NAME = "shop-twin";
const SITE = "a".repeat(26);

function answer(status: "True" | "False", reason: string, namespace = NAME, message: unknown = "said"): TwinNamespace {
  const object = newObject(TwinNamespace, {
    metadata: { name: "shop", namespace: "fjord-tenant-x" },
    spec: { originNamespace: "shop", wantedName: NAME },
  });
  const conditions = [{ type: "Ready", status, reason, message, lastTransitionTime: "2026-01-01T00:00:00Z" }];
  return { ...object, status: { namespace, conditions } } as unknown as TwinNamespace;
}

const made = answer("True", "NamespaceMade");
const facts = (more: Partial<TwinFacts> = {}): TwinFacts => ({
  site: SITE,
  wanted: true,
  inForce: true,
  reachable: true,
  known: true,
  request: made,
  hasPods: false,
  name: NAME,
  ...more,
});
const fresh = newObject(Offloading, { metadata: { name: "offloading", namespace: "shop" } });
const told = (more: Partial<TwinFacts>, before: Offloading = fresh) => {
  const { sites = [], conditions } = offloadingStatus(before, [facts(more)], 0);
  const [site] = sites;
  const ready = site?.conditions?.[0];
  return {
    twin: site?.twin,
    status: ready?.status,
    reason: ready?.reason,
    message: ready?.message,
    whole: conditions?.[0]?.reason,
  };
};
const ready: Offloading = { ...fresh, status: offloadingStatus(fresh, [facts()], 0) };

describe("the status of an Offloading", () => {
  it("says which labels there are where none is the one that is asked for", () => {
    const spec = { ...fresh.spec, sites: { matchLabels: { tier: "clod" } } };
    const nodes = [{ metadata: { name: "lively-wave", labels: { tier: "cloud" } } }] as never[];
    const [condition] = offloadingStatus({ ...fresh, spec }, [], 0, nodes).conditions ?? [];
    assert.deepEqual([condition?.status, condition?.reason], ["False", "NoSiteEligible"]);
    assert.match(condition?.message ?? "", /tier=clod: lively-wave has tier=cloud$/);
  });

  it("names rules of reflection that nothing obeys, until what they are about is listed", () => {
    const boats = { group: "example.com", resource: "boats", policy: "DenyList" } as const;
    const heeded = (reflection: NonNullable<Offloading["spec"]["reflection"]>, own: (typeof boats)[] = []) => {
      const { conditions } = offloadingStatus({ ...fresh, spec: { ...fresh.spec, reflection } }, [facts()], 0, [], own);
      assert.equal(conditions?.[0]?.reason, "AllTwinsReady");
      return conditions?.find(({ type }) => type === "RulesHeeded");
    };
    const wrong = heeded([{ group: "", resource: "secret", policy: "Never" }]);
    assert.deepEqual([wrong?.status, wrong?.reason], ["False", "ResourceUnknown"]);
    assert.match(wrong?.message ?? "", /did you mean secrets\?/);
    assert.match(heeded([boats])?.message ?? "", /the own Site lists no boats\.example\.com/);
    assert.equal(heeded([boats], [boats])?.status, "True");
    assert.equal(ready.status?.conditions?.length, 1);
  });

  it("tells of a twin that can be used", () => {
    assert.deepEqual(told({}), {
      twin: NAME,
      status: "True",
      reason: "TwinReady",
      message: "pods can run there",
      whole: "AllTwinsReady",
    });
  });

  it("takes a provider's word only where it is a known one, and its names only where they were asked for", () => {
    assert.equal(told({ request: answer("False", "NameTaken") }).reason, "NameTaken");
    assert.equal(told({ request: answer("False", "Whatever") }).reason, "AwaitingTwin");
    assert.equal(told({ request: answer("False", "NameTaken", NAME, "x".repeat(9_999)) }).message?.length, 1024);
    assert.equal(told({ request: answer("False", "NameTaken", NAME, { a: 1 }) }).message, "");
    const lie = told({ request: answer("True", "NamespaceMade", "kube-system") });
    assert.deepEqual([lie.twin, lie.status], [undefined, "False"]);
  });

  it("says why a provider takes no request, for as long as there is none", () => {
    const refusal = `quota exceeded: ${"x".repeat(9_999)}`;
    const { status, reason, message, twin } = told({ request: undefined, refusal });
    assert.deepEqual([status, reason, twin], ["False", "TwinRefused", undefined]);
    assert.equal(message, refusal.slice(0, 1024));
    assert.equal(told({ refusal }).reason, "TwinReady");
  });

  it("remembers the twin of a site that is away, or whose twins are not known yet", () => {
    const away = told({ reachable: false, known: false, request: undefined }, ready);
    assert.deepEqual([away.twin, away.status, away.reason], [NAME, "Unknown", "SiteUnreachable"]);
    const unknown = told({ known: false, request: undefined }, ready);
    assert.deepEqual([unknown.twin, unknown.status], [NAME, "True"]);
    const never = told({ reachable: false, request: undefined });
    assert.deepEqual([never.twin, never.status, never.reason], [undefined, "False", "SiteUnreachable"]);
  });

  it("lets pods that are to leave keep their twin until the last of them has", () => {
    const staying = told({ wanted: false, hasPods: true }, ready);
    assert.deepEqual([staying.twin, staying.status, staying.whole], [NAME, "True", "NoSiteEligible"]);
    assert.equal(told({ wanted: false }, ready).reason, "Removing");
  });

  it("says where there is no contract any more, and forgets the twin", () => {
    const ended = told({ inForce: false, request: undefined }, ready);
    assert.deepEqual([ended.twin, ended.status, ended.reason], [undefined, "False", "ContractNotActive"]);
  });

  it("says of a namespace that stays at home that it does, and forgets no twin", () => {
    const kept = keptStatus(ready, 0);
    assert.deepEqual([kept.conditions?.[0]?.status, kept.conditions?.[0]?.reason], ["False", "NamespaceKept"]);
    assert.deepEqual(kept.sites, ready.status?.sites);
    assert.equal(keptStatus(fresh, 0).sites, undefined);
  });

  it("is the same for the same facts, whenever it is asked", () => {
    assert.deepEqual(offloadingStatus(ready, [facts()], 99_999), ready.status);
  });
});
