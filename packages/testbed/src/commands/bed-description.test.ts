import assert from "node:assert/strict";
import { test } from "node:test";
import { planSites } from "../bed-plan.ts";
import type { Substrate } from "../binaries/index.ts";
import { kubeletCommand } from "../nodes/kubelet-command.ts";
import { usualKubelet } from "../nodes/node-services.ts";
import type { BedState } from "../state.ts";
import { type BedMake, describeAsked, describeBed } from "./bed-description.ts";

const plain: BedMake = { sites: 3, nodes: 0, simulatedNodes: 0, overlap: false };

test("a bed is described as the one that was asked for", () => {
  for (const make of [
    plain,
    { ...plain, sites: 1, overlap: true },
    { ...plain, simulatedNodes: 5, overlap: true },
    { ...plain, nodes: 2, kubernetes: ["1.36", "1.35"] as const },
    { ...plain, nodes: 2, kubelet: "fjord" as const },
    { ...plain, nodes: 1, kubernetes: ["microkube"] as const },
    { ...plain, nodes: 1, kubernetes: ["1.36", "microkube"] as const },
  ])
    assert.equal(describeBed(bedOf(make)), describeAsked(make));
});

test("beds that differ in anything are described in other words", () => {
  const makes: BedMake[] = [
    plain,
    { ...plain, sites: 2 },
    { ...plain, nodes: 1 },
    { ...plain, nodes: 1, kubelet: "fjord" },
    { ...plain, simulatedNodes: 1 },
    { ...plain, simulatedNodes: 5 },
    { ...plain, overlap: true },
    { ...plain, kubernetes: ["1.35"] },
    { ...plain, kubernetes: ["1.36", "1.35"] },
    { ...plain, kubernetes: ["1.35", "1.36"] },
    { ...plain, kubernetes: ["1.36", "1.36", "1.35"] },
  ];
  assert.equal(new Set(makes.map((make) => describeBed(bedOf(make)))).size, makes.length);
});

test("what is one is not called many", () => {
  assert.equal(describeAsked({ ...plain, sites: 1, nodes: 1 }), "1 site of 1.36 with 1 real node each");
});

function bedOf(make: BedMake): BedState {
  const sites = planSites({
    id: "x",
    directory: "/x",
    sites: make.sites,
    overlap: make.overlap,
    kubernetes: (make.kubernetes ?? ["1.36"]) as readonly Substrate[],
    components: "all",
    ports: [],
    nodeSubnets: [],
  });
  const options = { node: "n", addresses: [], cgroupRoot: "/", dnsServiceAddress: "", etc: (file: string) => file };
  const processes = sites.flatMap(({ name, kubernetes }) =>
    Array.from({ length: make.nodes }, (_, i) => ({
      name: `node-${i + 1}-kubelet`,
      site: name,
      file: "",
      args: kubeletCommand(make.kubelet ?? usualKubelet(kubernetes), { ...options, services: "kube-proxy" }),
      log: "",
    })),
  );
  const { simulatedNodes } = make;
  const place = { id: "x", directory: "/x", runtimeDirectory: "/x", startedAt: "", version: 1, ready: true } as const;
  return { ...place, sites, simulatedNodes, processes, resources: [] };
}
