import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { installation, readValues } from "@fjord/agent";
import type { KubeObject } from "@fjord/base";
import { findBinaries } from "@fjord/testbed";
import { helmSkip } from "@fjord/testbed/testing";
import { parseAllDocuments } from "yaml";

const root = dirname(dirname(import.meta.dirname));
const chart = join(root, "charts/fjord");

const skip = helmSkip();
/** Real Helm. */
const helm = () => findBinaries({ env: process.env, sets: ["helm"] }).binaries.path("helm");

const rendered = (...args: readonly string[]): KubeObject[] => {
  const text = execFileSync(
    helm(),
    ["template", "fjord", chart, "--namespace=fjord-system", "--kube-version=1.36", ...args],
    {
      maxBuffer: 1 << 26,
    },
  ).toString();
  return parseAllDocuments(text)
    .map((document) => document.toJS() as KubeObject)
    .filter((object) => object !== null);
};
const comparable = (objects: readonly KubeObject[]) =>
  new Map(
    objects
      .filter(({ kind }) => kind !== "Namespace")
      .map((object) => [`${object.kind} ${object.metadata.name}`, JSON.parse(JSON.stringify(object)) as object]),
  );

test("Helm renders what `fjord init` applies", { skip }, () => {
  assert.deepEqual(comparable(rendered()), comparable(installation("fjord-system", readValues({}))));
});

test("and so with other values", { skip }, () => {
  const values = {
    siteName: "lively-wave",
    tier: "edge",
    endpoints: ["https://wave.example:7443"],
    image: { repository: "registry.example:5000/fjord", tag: "7" },
    replicas: 2,
    service: { type: "NodePort" },
    networkPolicy: { enabled: false },
    nodeSelector: { "kubernetes.io/os": "linux" },
    tolerations: [{ operator: "Exists" }],
    guestPrivileges: ["hostPath"],
    extraArgs: ["--home-api=api.example:6443"],
    crds: { install: false },
    gateway: {
      enabled: true,
      nodeLabel: "fjord.dev/gateway",
      endpoint: "$(NODE_IP):51820",
      metrics: { enabled: true },
      extraArgs: ["--tunnel"],
    },
  };
  const sets = Object.entries(values).flatMap(([name, value]) => ["--set-json", `${name}=${JSON.stringify(value)}`]);
  assert.deepEqual(comparable(rendered(...sets)), comparable(installation("fjord-system", readValues(values))));
});

test("and so where every node may carry links", { skip }, () => {
  const values = { gateway: { enabled: true } };
  const args = ["--set", "gateway.enabled=true"];
  assert.deepEqual(comparable(rendered(...args)), comparable(installation("fjord-system", readValues(values))));
  const scraped = (...more: string[]) =>
    JSON.stringify(rendered(...args, ...more)).includes('"prometheus.io/port":"7449"');
  assert.deepEqual([scraped(), scraped("--set", "gateway.metrics.enabled=true")], [false, true]);
});

test("Helm finds nothing to complain of, and refuses wrong values by the schema", { skip }, () => {
  execFileSync(helm(), ["lint", "--strict", chart]);
  for (const wrong of [
    "replicas=0",
    "tier=space",
    "replica=2",
    "image.pullPolicy=Sometimes",
    "gateway.endpoint=here",
  ]) {
    const { status, stderr } = spawnSync(helm(), ["template", "fjord", chart, "--kube-version=1.36", "--set", wrong]);
    assert.notEqual(status, 0, wrong);
    assert.match(stderr.toString(), /values don't meet the specifications of the schema/, wrong);
  }
});
