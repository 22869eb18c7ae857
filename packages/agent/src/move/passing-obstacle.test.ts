import assert from "node:assert/strict";
import { test } from "node:test";
import { SITE_LABEL, type Site } from "@fjord/api";
import type { Node } from "@fjord/kube";
import { passingObstacle } from "./passing-obstacle.ts";

const AWAY = { site: "id-away" };

const node = (name: string, status: string | undefined, more: { site?: string; unschedulable?: boolean } = {}): Node =>
  ({
    metadata: { name, labels: more.site === undefined ? {} : { [SITE_LABEL]: more.site } },
    spec: { ...(more.unschedulable && { unschedulable: true }) },
    status: { conditions: status === undefined ? [] : [{ type: "Ready", status, reason: "Why", message: "so" }] },
  }) as unknown as Node;

const site = (id: string, reachable: string | undefined): Site =>
  ({
    metadata: { name: "lively-wave" },
    spec: { id },
    status: {
      conditions:
        reachable === undefined
          ? []
          : [{ type: "Reachable", status: reachable, reason: "TimedOut", message: "no answer within 2000 ms" }],
    },
  }) as unknown as Site;

const against = (place: typeof AWAY | "home", nodes: Node[], sites: Site[] = []) =>
  passingObstacle(place, "lively-wave", { nodes, sites });

test("a site that does not answer takes no pods, before its node says so", () => {
  const nodes = [node("home-1", "True"), node("away", "True", AWAY)];
  assert.equal(
    against(AWAY, nodes, [site("id-other", "True"), site("id-away", "False")]),
    "lively-wave does not answer (TimedOut: no answer within 2000 ms)",
  );
  assert.equal(against(AWAY, nodes, [site("id-away", "True")]), undefined);
  assert.equal(against("home", nodes, [site("id-away", "False")]), undefined, "home is not that site");
});

test("one node that takes pods is enough, and of what nobody knows nothing is said", () => {
  const silent = node("away", "Unknown", AWAY);
  assert.equal(against(AWAY, [node("home-1", "True"), silent]), "node away is not ready (Why: so)");
  assert.equal(against(AWAY, [silent, node("away-2", "True", AWAY)]), undefined);
  assert.equal(against(AWAY, [node("away", undefined, AWAY)], [site("id-away", undefined)]), undefined);
  assert.equal(against(AWAY, []), undefined, "a node that is missing is no passing thing");
});

test("cordoned nodes take no new pods", () => {
  const cordoned = node("away", "True", { ...AWAY, unschedulable: true });
  assert.equal(against(AWAY, [cordoned]), "node away is cordoned, and takes no new pods");
  assert.equal(
    against("home", [node("home-1", "False"), node("home-2", "True", { unschedulable: true })]),
    "node home-1 is not ready (Why: so); node home-2 is cordoned, and takes no new pods",
  );
});
