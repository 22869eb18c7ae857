import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Condition, Kind } from "@fjord/base";
import {
  type ConditionOf,
  Contract,
  type DraftOf,
  kinds,
  newObject,
  type ObjectOf,
  Offloading,
  Peering,
  type Site,
  type StatusOf,
} from "./index.ts";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function holds<_T extends true>(): void {}

describe("a kind", () => {
  it("is a Kind for a client, which then knows the type of its objects", () => {
    const kind: Kind<Contract> = Contract;
    assert.deepEqual(
      [kind.group, kind.version, kind.kind, kind.plural],
      ["fjord.dev", "v1alpha1", "Contract", "contracts"],
    );
    assert.equal(kind.namespaced, false);
    assert.equal(Offloading.namespaced, true);
    holds<Same<ObjectOf<typeof Contract>, Contract>>();
    holds<Same<Contract["kind"], "Contract">>();
    holds<Same<Contract["apiVersion"], "fjord.dev/v1alpha1">>();
  });

  it("gives readers what the server fills in", () => {
    holds<Same<Contract["spec"]["standing"], "Open" | "Cordoned" | "Drained" | "Ended">>();
    holds<Same<Offloading["spec"]["naming"]["strategy"], "Suffixed" | "Same" | "Chosen">>();
    holds<Same<Site["spec"]["tier"], "cloud" | "edge" | "device" | undefined>>();
    holds<Same<undefined extends Contract["status"] ? true : false, true>>();
    const draft: DraftOf<typeof Offloading> = { metadata: { name: "offloading" } };
    assert.equal(draft.spec, undefined);
    // @ts-expect-error: a Peering without a site and amounts
    const incomplete: DraftOf<typeof Peering> = { metadata: { name: "x" } };
    assert.ok(incomplete);
  });

  it("knows the reasons of each of its conditions", () => {
    type Ended = Extract<ConditionOf<typeof Contract>, { type: "Ended" }>;
    holds<Same<Ended["reason"], "InForce" | "Expired" | "Cancelled" | "Revoked" | "Superseded" | "PeerRemoved">>();
    // @ts-expect-error: a reason of another condition
    const condition: ConditionOf<typeof Contract> = {
      type: "Ended",
      status: "True",
      reason: "BothSigned",
      message: "",
      lastTransitionTime: "2030-01-01T00:00:00Z",
    };
    const plain: Condition = condition;
    assert.equal(plain.type, "Ended");
    holds<Same<NonNullable<StatusOf<typeof Contract>["conditions"]>[number], ConditionOf<typeof Contract>>>();
  });

  it("is found once by each of its names", () => {
    const names = kinds.flatMap((kind) => [kind.plural, kind.kind.toLowerCase(), ...kind.shortNames]);
    assert.deepEqual(names, [...new Set(names)]);
    const builtIn = [
      "cm",
      "cs",
      "csr",
      "cj",
      "crd",
      "deploy",
      "ds",
      "ep",
      "ev",
      "hpa",
      "ing",
      "limits",
      "netpol",
      "no",
      "ns",
    ];
    const more = ["pc", "pdb", "po", "pv", "pvc", "quota", "rc", "rs", "sa", "sc", "sts", "svc"];
    assert.deepEqual(
      names.filter((name) => [...builtIn, ...more].includes(name)),
      [],
    );
  });
});

describe("newObject", () => {
  it("is the draft with the kind's own fields and defaults", () => {
    const peering: Peering = newObject(Peering, {
      metadata: { name: "a" },
      spec: { site: "b", resources: { cpu: 1 } },
    });
    assert.deepEqual(peering, {
      apiVersion: "fjord.dev/v1alpha1",
      kind: "Peering",
      metadata: { name: "a" },
      spec: {
        site: "b",
        resources: { cpu: 1 },
        renew: true,
        link: false,
        virtualNode: { tainted: true, unreachableAfter: "2s" },
      },
    });
  });
});
