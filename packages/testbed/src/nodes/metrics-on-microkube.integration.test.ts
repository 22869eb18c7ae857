import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { systemClock } from "@fjord/base";
import { findBinaries } from "../binaries/find.ts";
import { Authority } from "../certificates.ts";
import { kubectlProgram } from "../kubectl-program.ts";
import type { ManagedProcess } from "../managed-process.ts";
import { freePorts } from "../ports.ts";
import { siteFiles } from "../site-layout.ts";
import { kubernetesSkip, startTestSite, type TestSite } from "../testing.ts";
import { waitFor } from "../wait.ts";
import { startMetricsServer } from "./metrics-server.ts";
import { metricsApi } from "./metrics-server-objects.ts";
import { metricsServerSkip } from "./testing.ts";

const execute = promisify(execFile);
/** It takes most of a minute, so it is done where it is asked for; that APIs are aggregated at all is tested each time. */
const unasked =
  process.env.FJORD_TEST_METRICS === "1" ? false : "FJORD_TEST_METRICS=1 tests metrics-server on microkube";
const skip = unasked || kubernetesSkip() || metricsServerSkip();
const nodeProgram = fileURLToPath(new URL("cli.ts", import.meta.resolve("@fjord/node")));

/** Pods that say to use a quarter of a processor each, more than twice what they ask for. */
const busy = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "busy", namespace: "default" },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: "busy" } },
    template: {
      metadata: {
        labels: { app: "busy" },
        annotations: { "simulated.fjord.dev/cpu": "250m", "simulated.fjord.dev/memory": "128Mi" },
      },
      spec: { containers: [{ name: "web", image: "web", resources: { requests: { cpu: "100m" } } }] },
    },
  },
};

/** The real metrics-server behind an APIService of microkube. */
describe("metrics-server on microkube", { skip, timeout: 180_000 }, () => {
  let made: TestSite;
  let server: ManagedProcess;

  before(async () => {
    made = await startTestSite({ kubernetes: "microkube", components: "all" });
    await startServedNodes(made);
    await kubectl(["apply", "--filename=-"], JSON.stringify(busy));
    const { binaries } = findBinaries({ env: process.env, sets: ["metrics-server"] });
    server = await startMetricsServer(made.site, { binaries, timeout: 90_000 });
  });
  after(() => made?.stop());

  async function kubectl(args: readonly string[], input = ""): Promise<string> {
    const running = execute(kubectlProgram("1.36"), [`--kubeconfig=${made.kubeconfig}`, ...args]);
    running.child.stdin?.end(input);
    return (await running).stdout;
  }

  /** Runs it until its words match. */
  async function shows(wanted: RegExp, ...args: readonly string[]): Promise<void> {
    let last = "";
    const found = await waitFor(
      async () => {
        last = await kubectl(args).catch((error: { stderr?: string }) => error.stderr ?? String(error));
        return wanted.test(last);
      },
      { clock: systemClock, timeout: 60_000, interval: 500 },
    );
    assert.ok(found, `kubectl ${args.join(" ")} shows ${wanted}; last:\n${last}`);
  }

  test("its resources are among the server's", async () => {
    await shows(/^v1beta1\.metrics\.k8s\.io +kube-system\/metrics-server +True/m, "get", "apiservices");
    const resources = await kubectl(["api-resources", "--api-group=metrics.k8s.io", "--no-headers"]);
    assert.deepEqual(resources.trim().split(/\s+/), [
      ...["nodes", "metrics.k8s.io/v1beta1", "false", "NodeMetrics"],
      ...["pods", "metrics.k8s.io/v1beta1", "true", "PodMetrics"],
    ]);
    assert.match(await kubectl(["api-versions"]), /^metrics\.k8s\.io\/v1beta1$/m);
  });

  test("kubectl top tells what nodes and pods use", async () => {
    // One on which nothing runs is not measured.
    await shows(/^served-\d +2[3-6]\dm +0% +128Mi +0%/m, "top", "nodes");
    await shows(/^busy-\S+ +2[3-6]\dm +128Mi/m, "top", "pods");
    await shows(/^default +busy-\S+ +web +2[3-6]\dm +128Mi/m, "top", "pods", "--all-namespaces", "--containers");
  });

  test("an autoscaler scales by what pods use", async () => {
    await kubectl(["autoscale", "deployment", "busy", "--min=1", "--max=3", "--cpu=50%"]);
    await shows(/^3$/, "get", "deployment", "busy", "--output=jsonpath={.spec.replicas}");
    await shows(/ScalingActive +True +ValidMetricFound/, "describe", "hpa", "busy");
    await shows(/cpu: 2[0-9]{2}%\/50%/, "get", "hpa", "busy");
  });

  test("it is unavailable while nobody answers, and available again", async () => {
    await server.stop();
    const condition = "--output=jsonpath={.status.conditions[0].status} {.status.conditions[0].reason}";
    await shows(/^False FailedDiscoveryCheck$/, "get", "apiservice", metricsApi, condition);
    await shows(/False \(FailedDiscoveryCheck\)/, "get", "apiservice", metricsApi);
    await shows(/Metrics API not available|the server is currently unable to handle the request/, "top", "nodes");
    assert.match(await kubectl(["get", "deployments"]), /busy/);
    await server.start();
    await shows(/^True Passed$/, "get", "apiservice", metricsApi, condition);
    await shows(/^served-1 /m, "top", "nodes");
  });
});

/** Two simulated nodes that serve the kubelet API, with a certificate that the site's authority vouches for. */
async function startServedNodes({ site, kubeconfig }: TestSite): Promise<void> {
  const authority = await Authority.load(siteFiles(site.layout).pki, "ca");
  const addresses = ["127.64.0.1", "127.64.0.2"];
  const { certificate, key } = await authority.issue({ commonName: "served", addresses }, systemClock.now());
  const [certFile, keyFile] = [join(site.layout.directory, "served.crt"), join(site.layout.directory, "served.key")];
  await writeFile(certFile, certificate);
  await writeFile(keyFile, key, { mode: 0o600 });
  const [port = 0] = await freePorts(1, "127.0.0.1", Math.random);
  const flags = ["--nodes=2", "--name=served", `--kubeconfig=${kubeconfig}`, `--pod-range=${site.layout.podCidr}`];
  const serving = [`--port=${port}`, `--tls-cert=${certFile}`, `--tls-key=${keyFile}`];
  const args = [nodeProgram, "simulate", ...flags, ...serving];
  await site.addProcess({ name: "served-nodes", file: process.execPath, args }).start();
}
