import assert from "node:assert/strict";
import { test } from "node:test";
import type { Offloading, Site } from "@fjord/api";
import type { Deployment } from "@fjord/kube";
import { movedAmong } from "./moved-workloads.ts";
import { twinsLeft } from "./twins-left.ts";

const site = (name: string, reachable = true): Site =>
  ({
    metadata: { name },
    spec: {},
    status: { id: `id-${name}`, conditions: [{ type: "Reachable", status: reachable ? "True" : "False" }] },
  }) as unknown as Site;

const places = { sites: [site("wave"), site("reef", false)] };

test("twins are told by their sites, and what is in nobody's hands is marked", () => {
  const at = (...ids: string[]) =>
    ({ status: { sites: ids.map((id) => ({ site: id, twin: "shop-abc" })) } }) as unknown as Offloading;
  assert.equal(
    twinsLeft(at("id-wave", "id-reef", "id-lost"), places),
    "waiting for what is left at id-lost, reef (does not answer), wave",
  );
  assert.equal(twinsLeft(at(), places), "waiting for its pods to end");
});

test("workloads that ask for another site are named, and others are not", () => {
  const workload = (name: string, expression?: object): Deployment =>
    ({
      metadata: { name, namespace: "shop" },
      spec: {
        template: {
          spec: expression && {
            affinity: {
              nodeAffinity: {
                requiredDuringSchedulingIgnoredDuringExecution: {
                  nodeSelectorTerms: [{ matchExpressions: [expression] }],
                },
              },
            },
          },
        },
      },
    }) as unknown as Deployment;
  const workloads = [
    workload("web", { key: "fjord.dev/site", operator: "In", values: ["id-wave"] }),
    workload("here", { key: "fjord.dev/site", operator: "DoesNotExist" }),
    workload("zoned", { key: "zone", operator: "In", values: ["a"] }),
    workload("free"),
    workload("lost", { key: "fjord.dev/site", operator: "In", values: ["id-lost"] }),
  ];
  assert.deepEqual(movedAmong("Deployment", workloads, places), [
    { what: "deployment/web", namespace: "shop", site: "wave" },
    { what: "deployment/lost", namespace: "shop", site: "id-lost" },
  ]);
});
