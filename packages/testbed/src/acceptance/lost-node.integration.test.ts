// A real node of a provider dies while the consumer is away: the provider makes its guests anew, by itself.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { CONSUMER_LABEL } from "@fjord/api";
import { fjord } from "../agents/index.ts";
import { realNodesSkip, testNodes } from "../testing.ts";
import { AcceptanceBed, eventually, type PodShape } from "./acceptance-bed.ts";
import { deployment, namespace } from "./workloads.ts";

const HOME = "site-1";
const AWAY = "site-2";
const NAMESPACE = "bereft";
const REPLICAS = 4;

const skip =
  process.env.FJORD_TEST_LINKS !== "1"
    ? "a node's death takes Kubernetes most of a minute to notice: FJORD_TEST_LINKS=1 runs it"
    : realNodesSkip();

describe("a provider one of whose real nodes dies while the consumer is away", { skip, timeout: 900_000 }, () => {
  const provider = testNodes();
  let bed: AcceptanceBed;

  before(async () => {
    const nodes = { count: 2, provider, sites: [AWAY] };
    bed = await AcceptanceBed.start({ sites: 2, kubernetes: ["microkube", "1.36"], nodes });
    await bed.peer(HOME, AWAY, "--cpu=2", "--memory=2Gi", "--pods=20");
    await bed.apply(HOME, namespace(NAMESPACE));
    await fjord(bed.site(HOME), "offload", NAMESPACE, "--pods=Remote");
    await bed.apply(HOME, deployment("web", { namespace: NAMESPACE, replicas: REPLICAS }));
    await bed.rolledOut(HOME, NAMESPACE, "deployment/web");
  });

  after(() => bed?.[Symbol.asyncDispose]());

  const guests = async () => {
    const all = ["pods", "--all-namespaces", `--selector=${CONSUMER_LABEL}`] as const;
    return (await bed.get<{ items: Guest[] }>(AWAY, ...all)).items;
  };
  const isRunning = ({ metadata, status }: Guest) =>
    metadata.deletionTimestamp === undefined &&
    status.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True");
  const uids = async () => {
    const { items } = await bed.get<{ items: PodShape[] }>(HOME, "pods", `--namespace=${NAMESPACE}`);
    return items.map(({ metadata }) => metadata.uid).sort();
  };

  it("runs them on its other node, and the consumer finds its pods as they were", async (t) => {
    const pods = await uids();
    const before = await guests();
    assert.equal(before.filter(isRunning).length, REPLICAS);
    const [dead] = provider
      .nodes(bed.site(AWAY))
      .filter(({ name }) => before.some(({ spec }) => spec.nodeName === name));
    assert.ok(dead !== undefined);
    const bereft = before.filter(({ spec }) => spec.nodeName === dead.name);

    await bed.agent(HOME).process.kill();
    // Kubernetes waits five minutes for a lost node, unless a pod says otherwise.
    for (const guest of bereft) await impatient(guest);
    for (const name of dead.processes.toReversed()) await dead.process(name).kill();
    const began = performance.now();
    await eventually(
      "all guests run, none of them on the node that is gone",
      async () => {
        const running = (await guests()).filter(isRunning);
        return running.length === REPLICAS && running.every(({ spec }) => spec.nodeName !== dead.name);
      },
      300_000,
    );
    const seconds = (performance.now() - began) / 1000;
    t.diagnostic(`${bereft.length} of ${REPLICAS} guests were on it, and run elsewhere after ${seconds.toFixed(0)} s`);
    const after = await guests();
    for (const { metadata } of before.filter((each) => !bereft.includes(each)))
      assert.ok(
        after.some((each) => each.metadata.uid === metadata.uid),
        "the others were left alone",
      );

    await bed.agent(HOME).process.start();
    await bed.rolledOut(HOME, NAMESPACE, "deployment/web");
    assert.deepEqual(await uids(), pods, "no pod of the consumer was made again");
  });

  async function impatient({ metadata, spec }: Guest): Promise<void> {
    const tolerations = spec.tolerations?.map((each) => ({ ...each, tolerationSeconds: 1 }));
    const patch = JSON.stringify([{ op: "replace", path: "/spec/tolerations", value: tolerations }]);
    const twin = `--namespace=${metadata.namespace}`;
    await bed.kubectl(AWAY, twin, "patch", "pod", metadata.name, "--type=json", `--patch=${patch}`);
  }
});

interface Guest extends PodShape {
  readonly metadata: PodShape["metadata"] & { readonly namespace: string };
  readonly spec: PodShape["spec"] & { readonly tolerations?: readonly object[] };
}
