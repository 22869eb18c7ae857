import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Kind, type KubeObject, silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import {
  type KubeClient,
  type ListOptions,
  type Node,
  type ObjectKey,
  Pod,
  type PodDisruptionBudget,
} from "@fjord/kube";
import { GuestBudgets } from "./guest-budgets.ts";

const MINUTE = 60_000;

/** A site with one guest on one node and budgets that select it, or not. */
function site(budgets: Record<string, { app: string; allowed: number }>) {
  const clock = new ManualClock();
  const left = new Map(Object.entries(budgets));
  const cordoned: Node[] = [];
  const guests = [{ metadata: { name: "web", namespace: "twin", labels: { app: "web" } }, spec: { nodeName: "n1" } }];
  const client = {
    list: async (kind: Kind, { fieldSelector, namespace }: ListOptions) => {
      if (kind === (Pod as Kind)) return { items: fieldSelector === "spec.nodeName=n1" ? guests : [], metadata: {} };
      assert.equal(namespace, "twin");
      const items = [...left].map(([name, { app, allowed }]) => ({
        metadata: { name, namespace, uid: name },
        spec: { selector: { matchLabels: { app } } },
        status: { disruptionsAllowed: allowed },
      }));
      return { items: items as unknown as PodDisruptionBudget[], metadata: {} };
    },
    delete: async (_: Kind, { name }: ObjectKey) => void left.delete(name),
  } as unknown as Pick<KubeClient, "list" | "delete">;
  const list = () => cordoned;
  const patience = () => "10m";
  const kept = new GuestBudgets({ client, cordoned: { list }, patience, clock, logger: silentLogger });
  const cordon = (name: string) => cordoned.push({ metadata: { name } } as KubeObject as Node);
  const uncordon = () => cordoned.splice(0);
  return { clock, kept, cordon, uncordon, guests, left: () => [...left.keys()] };
}

describe("budgets of guests", () => {
  it("hold for as long as the owner is patient with a node that is cordoned, and no longer", async () => {
    const { clock, kept, cordon, left } = site({ all: { app: "web", allowed: 0 } });
    await kept.look();
    await clock.advance(60 * MINUTE);
    cordon("n1");
    await kept.look();
    await clock.advance(9 * MINUTE);
    await kept.look();
    assert.ok(kept.hold("twin"));
    assert.deepEqual(left(), ["all"]);
    await clock.advance(MINUTE);
    await kept.look();
    assert.deepEqual([kept.hold("twin"), kept.hold("other"), left()], [false, true, []]);
  });

  it("are left alone where they let guests go, or are about others", async () => {
    const { clock, kept, cordon, left } = site({ soft: { app: "web", allowed: 1 }, others: { app: "db", allowed: 0 } });
    cordon("n1");
    await kept.look();
    await clock.advance(10 * MINUTE);
    await kept.look();
    assert.deepEqual(left(), ["soft", "others"]);
  });

  it("hold again when the node is, or when no guest is left there", async () => {
    const { clock, kept, cordon, uncordon, guests } = site({});
    cordon("n1");
    await kept.look();
    await clock.advance(10 * MINUTE);
    await kept.look();
    assert.ok(!kept.hold("twin"));
    uncordon();
    await kept.look();
    assert.ok(kept.hold("twin"));
    cordon("n1");
    await kept.look();
    assert.ok(kept.hold("twin"), "patience begins anew");
    await clock.advance(10 * MINUTE);
    guests.splice(0);
    await kept.look();
    assert.ok(kept.hold("twin"));
  });
});
