import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import { HOME_API_ANNOTATION } from "@fjord/api";
import { fjord } from "../agents/index.ts";
import { findBinaries } from "../binaries/find.ts";
import { kubectlProgram } from "../kubectl-program.ts";
import { pathServer } from "../network/bed-network.ts";
import { metricsServerSkip, realNodesSkip, startMetricsServer, testNodes } from "../testing.ts";
import { AcceptanceBed, eventually, type PodShape } from "./acceptance-bed.ts";
import { autoscaler, deployment, job, namespace, pod } from "./workloads.ts";

const HOME = "site-1";
const AWAY = "site-2";
const NAMESPACE = "lively";
/** Uses as much of a processor as it is given. */
const BUSY = ["sh", "-c", "trap 'exit 0' TERM; while :; do :; done"];

interface Resized {
  readonly spec: { readonly containers: readonly { readonly resources: Amounts }[] };
  readonly status: { readonly containerStatuses?: readonly { readonly resources?: Amounts; restartCount: number }[] };
}

interface Amounts {
  readonly requests?: Readonly<Record<string, string>>;
  readonly limits?: Readonly<Record<string, string>>;
}

const skip = realNodesSkip() || metricsServerSkip();

describe("what grows and asks at another site", { skip, timeout: 600_000 }, () => {
  let bed: AcceptanceBed;

  before(async () => {
    const provider = testNodes();
    bed = await AcceptanceBed.start({ sites: 2, nodes: { count: 1, provider, sites: [AWAY] } }, (made) => {
      // Pods there have no way to the home API but the bed's.
      const { host } = new URL(pathServer(made.site(AWAY).layout, made.site(HOME).layout));
      return { flags: [`--home-api=${host}`], timeout: 120_000 };
    });
    await bed.peer(HOME, AWAY, "--cpu=2", "--memory=2Gi", "--pods=30");
    await bed.apply(HOME, namespace(NAMESPACE));
    await fjord(bed.site(HOME), "offload", NAMESPACE, "--pods=Remote");
    const content = await readFile(kubectlProgram("1.36"));
    await provider.loadImage(bed.site(AWAY), {
      name: "fjord.test/kubectl:1",
      files: [{ path: "bin/kubectl", content, mode: 0o755 }],
    });
  });

  after(() => bed?.[Symbol.asyncDispose]());

  const kubectl = (...args: readonly string[]) => bed.kubectl(HOME, `-n=${NAMESPACE}`, ...args);

  it("a Job that asks for the home API lists the pods of its namespace at home", async () => {
    await kubectl("create", "rolebinding", "looks", "--clusterrole=view", `--serviceaccount=${NAMESPACE}:default`);
    const annotations = { [HOME_API_ANNOTATION]: "true" };
    const command = ["kubectl", "get", "pods", "--output=name"];
    await bed.apply(HOME, job("lister", { namespace: NAMESPACE, annotations, command, image: "fjord.test/kubectl:1" }));
    await kubectl("wait", "--for=condition=Complete", "job/lister", "--timeout=120s").catch(async (error: unknown) => {
      throw new Error(await kubectl("logs", "job/lister"), { cause: error });
    });
    const [name] = Object.keys(await bed.placement(HOME, NAMESPACE));
    assert.equal((await kubectl("logs", "job/lister")).trim(), `pod/${name}`);
  });

  it("a pod that is resized at home is resized there, without a restart", async () => {
    const common = { namespace: NAMESPACE, requests: { cpu: "100m", memory: "64Mi" } };
    await bed.apply(HOME, pod("elastic", common));
    await kubectl("wait", "--for=condition=Ready", "pod/elastic", "--timeout=150s");
    const resources = { requests: { cpu: "200m" }, limits: { cpu: "300m" } };
    const patch = JSON.stringify({ spec: { containers: [{ name: "main", resources }] } });
    await kubectl("patch", "pod", "elastic", "--subresource=resize", `--patch=${patch}`);
    const twin = await bed.twin(HOME, NAMESPACE);
    const wanted = { requests: { cpu: "200m", memory: "64Mi" }, limits: { cpu: "300m" } };
    for (const [site, space] of [
      [AWAY, twin],
      [HOME, NAMESPACE],
    ] as const) {
      await eventually(`the container has its new amounts, as seen at ${site}`, async () => {
        const { spec, status } = await bed.get<Resized>(site, "pod", "elastic", `-n=${space}`);
        assert.deepEqual(spec.containers[0]?.resources, wanted);
        const [container] = status.containerStatuses ?? [];
        assert.deepEqual([container?.resources, container?.restartCount], [wanted, 0]);
        return true;
      });
    }
  });

  it("an autoscaler at home sees what guests use, and has more of them made", async () => {
    const { binaries } = findBinaries({ env: process.env, sets: ["control-plane", "metrics-server"] });
    const amounts = { requests: { cpu: "50m" }, limits: { cpu: "100m" } };
    await bed.apply(
      HOME,
      deployment("busy", { namespace: NAMESPACE, replicas: 1, command: BUSY, ...amounts }),
      autoscaler("busy", { namespace: NAMESPACE, most: 2, percent: 50 }),
    );
    // It looks every 10 s, and from its second look on it knows what was used: the pod is busy by then.
    await startMetricsServer(bed.site(HOME), { binaries, timeout: 120_000 });
    await eventually(
      "there are two",
      async () => {
        const { items } = await bed.get<{ items: PodShape[] }>(HOME, "pods", `-n=${NAMESPACE}`, "--selector=app=busy");
        return (
          items.length === 2 && items.every(({ status, spec }) => status.phase === "Running" && spec.nodeName === AWAY)
        );
      },
      180_000,
    );
    assert.match(await kubectl("describe", "hpa", "busy"), /New size: 2; reason: cpu resource utilization/);
  });
});
