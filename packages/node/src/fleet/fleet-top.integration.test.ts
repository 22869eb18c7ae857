import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { silentLogger, sleep, systemClock } from "@fjord/base";
import { KubeClient, Pod, ServiceAccount } from "@fjord/kube";
import { Authority, findBinaries, siteFiles } from "@fjord/testbed";
import { freePort, kubernetesSkip, metricsServerSkip, startMetricsServer, startTestSite } from "@fjord/testbed/testing";
import { noRules } from "../runtimes/simulated/index.ts";
import { Fleet } from "./fleet.ts";
import { FleetServer } from "./fleet-server.ts";

const execute = promisify(execFile);
const skip = kubernetesSkip() || metricsServerSkip();

test("kubectl top shows what simulated pods and nodes use", { skip, timeout: 180_000 }, async () => {
  await using test = await startTestSite();
  const { config, site, kubeconfig } = test;
  await using client = new KubeClient(config);
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default", namespace: "default" } };
  await client.create(ServiceAccount, account as ServiceAccount);
  const authority = await Authority.load(siteFiles(site.layout).pki, "ca");
  const addresses = ["127.64.0.1", "127.64.0.2"];
  const { certificate: cert, key } = await authority.issue({ commonName: "fleet", addresses }, Date.now());
  const port = await freePort();
  const shared = { clock: systemClock, random: Math.random, logger: silentLogger };
  const fleet = new Fleet({ ...shared, config, name: "fleet", nodes: 2, rules: noRules, kubeletPort: port });
  const server = new FleetServer({ ...shared, fleet, port, tls: { cert, key } });
  const end = new AbortController();
  const done = Promise.all([fleet.run(end.signal), server.run(end.signal)]);
  try {
    await client.create(Pod, podOf("one", "fleet-1"));
    await client.create(Pod, podOf("two", "fleet-2"));
    const { binaries } = findBinaries({ env: process.env, sets: ["control-plane", "metrics-server"] });
    await startMetricsServer(site, { binaries, timeout: 90_000 });
    const top = async (what: string) => {
      const args = ["--kubeconfig", kubeconfig, "top", what, "--no-headers"];
      const { stdout } = await execute(binaries.path("kubectl"), args).catch(() => ({ stdout: "" }));
      return stdout
        .trim()
        .split("\n")
        .map((line) => line.split(/\s+/));
    };
    let pods: string[][] = [];
    for (let tries = 0; tries < 60 && pods.length < 2; tries++) {
      pods = (await top("pods")).filter(([name]) => name !== "");
      if (pods.length < 2) await sleep(systemClock, 1_000);
    }
    assert.deepEqual(pods.map(([name, , memory]) => [name, memory]).sort(), [
      ["one", "128Mi"],
      ["two", "128Mi"],
    ]);
    for (const [, cpu = ""] of pods) assert.ok(Math.abs(Number.parseInt(cpu, 10) - 250) <= 15, cpu);
    const nodes = await top("nodes");
    assert.deepEqual(nodes.map(([name]) => name).sort(), ["fleet-1", "fleet-2"]);
  } finally {
    end.abort();
    await done;
  }
});

function podOf(name: string, nodeName: string): Pod {
  const annotations = { "simulated.fjord.dev/cpu": "250m", "simulated.fjord.dev/memory": "128Mi" };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", annotations },
    spec: { nodeName, containers: [{ name: "web", image: "example.com/web:1" }] },
  };
}
