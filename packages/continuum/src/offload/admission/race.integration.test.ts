import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { VIRTUAL_NODE } from "@fjord/api";
import { KubeClient, type Node, Pod } from "@fjord/kube";
import { findBinaries } from "@fjord/testbed";
import { startSiteAgent } from "@fjord/testbed/agents";
import { kubernetesSkip, startTestSite, type TestSite } from "@fjord/testbed/testing";
import { mayLand } from "./test-scheduling.ts";

const run = promisify(execFile);
/** As many as `npm test` has time for; 200 were run when this was written. */
const ROUNDS = Number(process.env.FJORD_RACE_ROUNDS ?? 40);
const HANDS = 4;

const fjord = "fjord.dev/v1alpha1";
const namespace = (name: string, labels = {}) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name, labels } });
/** Here nobody else makes it. */
const account = (namespace: string) => ({
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata: { name: "default", namespace },
});
const pod = (namespace: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web", namespace },
  spec: { containers: [{ name: "main", image: "busybox" }] },
});
const spec = { pods: "Remote", sites: { matchLabels: { zone: "a" } } };

const byOffloading = (round: number) => {
  const name = `own-${round}`;
  const offloading = { apiVersion: fjord, kind: "Offloading", metadata: { name: "offloading", namespace: name }, spec };
  return [namespace(name), account(name), offloading, pod(name)];
};
const byRule = (round: number) => {
  const name = `ruled-${round}`;
  const labels = { team: name };
  const rule = {
    apiVersion: fjord,
    kind: "OffloadingRule",
    metadata: { name },
    spec: { namespaceSelector: { matchLabels: labels }, template: spec },
  };
  return [rule, namespace(name, labels), account(name), pod(name)];
};

const virtual = { metadata: { name: "v", labels: { [VIRTUAL_NODE]: "true", zone: "a" } } } as unknown as Node;
const taints = [{ key: VIRTUAL_NODE, value: "true", effect: "NoSchedule" as const }];
const nodes: readonly { node: Node; isRight: boolean }[] = [
  { node: { ...virtual, spec: { taints } } as Node, isRight: true },
  {
    node: { metadata: { name: "w", labels: { [VIRTUAL_NODE]: "true", zone: "b" } }, spec: { taints } } as never,
    isRight: false,
  },
  { node: { metadata: { name: "real", labels: { zone: "a" } } } as never, isRight: false },
];

describe("a pod made in the same instant as its namespace", { skip: kubernetesSkip(), timeout: 300_000 }, () => {
  let site: TestSite;
  let client: KubeClient;
  let directory: string;

  before(async () => {
    site = await startTestSite();
    await startSiteAgent(site.site);
    client = new KubeClient(site.config, { closeGraceMs: 1_000 });
    directory = await mkdtemp(join(tmpdir(), "fjord-race-"));
  });

  after(async () => {
    await client?.close();
    await site?.stop();
    if (directory) await rm(directory, { recursive: true });
  });

  /** As fast as kubectl goes through one file, by several hands at once. */
  const create = async (objectsOf: (round: number) => readonly object[]) => {
    const { binaries } = findBinaries({ env: process.env });
    const hands = Array.from({ length: HANDS }, async (_, hand) => {
      const rounds = Array.from({ length: ROUNDS / HANDS }, (_, round) => objectsOf(hand * (ROUNDS / HANDS) + round));
      const file = join(directory, `${objectsOf.name}-${hand}.json`);
      await writeFile(
        file,
        rounds
          .flat()
          .map((object) => JSON.stringify(object))
          .join("\n"),
      );
      await run(binaries.path("kubectl"), ["--kubeconfig", site.kubeconfig, "create", "--validate=false", "-f", file]);
    });
    await Promise.all(hands);
  };

  const misplaced = async (prefix: string) => {
    const pods = (await client.list(Pod)).items.filter(({ metadata }) => metadata.namespace?.startsWith(prefix));
    assert.equal(pods.length, ROUNDS);
    return pods
      .filter((each) => nodes.some(({ node, isRight }) => mayLand(each, node) !== isRight))
      .map(({ metadata }) => metadata.namespace);
  };

  it("lands where its Offloading says", async () => {
    await create(byOffloading);
    assert.deepEqual(await misplaced("own-"), []);
  });

  it("lands where a rule says that is as young", async () => {
    await create(byRule);
    assert.deepEqual(await misplaced("ruled-"), []);
  });
});
