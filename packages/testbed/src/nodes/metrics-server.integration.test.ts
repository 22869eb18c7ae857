import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { systemClock } from "@fjord/base";
import type { Bed } from "../bed.ts";
import { findBinaries } from "../binaries/find.ts";
import type { Site } from "../site.ts";
import { startTestBed } from "../testing.ts";
import { waitFor } from "../wait.ts";
import { kubelets } from "./kubelet-command.ts";
import { startMetricsServer } from "./metrics-server.ts";
import { metricsServerSkip, realNodesSkip, testNodes } from "./testing.ts";

const run = promisify(execFile);

const skip = realNodesSkip() || metricsServerSkip();

// Metrics are asked for every ten seconds: both wait for that together.
describe("metrics-server", { skip, concurrency: true }, () => {
  for (const kubelet of kubelets)
    describe(`and the kubelet of ${kubelet}`, { timeout: 180_000, concurrency: 1 }, () => {
      const { binaries } = findBinaries({ env: process.env, sets: ["control-plane", "metrics-server"] });
      let bed: Bed;
      let site: Site;

      before(async () => {
        bed = await startTestBed({ sites: 1, nodes: { count: 1, provider: testNodes({ kubelet }) } });
        site = bed.site("site-1");
        await startMetricsServer(site, { binaries });
      });

      after(() => bed?.stop());

      async function top(what: string): Promise<string[][]> {
        const args = ["--kubeconfig", site.kubeconfig, "top", what, "--all-namespaces", "--no-headers"];
        const { stdout } = await run(binaries.path("kubectl"), what === "nodes" ? args.toSpliced(4, 1) : args);
        return stdout
          .trim()
          .split("\n")
          .map((line) => line.split(/\s+/));
      }

      test("kubectl top tells what a node uses", async () => {
        const [[name, cpu = "", , memory = ""] = []] = await top("nodes");
        assert.equal(name, "site-1-node-1");
        assert.match(cpu, /^[1-9]\d*m$/);
        assert.match(memory, /^[1-9]\d*Mi$/);
      });

      test("kubectl top tells what a pod uses", async () => {
        const pod = await waitFor(
          async () => (await top("pods").catch(() => [])).find(([, name]) => name?.startsWith("coredns-")),
          { clock: systemClock, timeout: 60_000, interval: 1_000 },
        );
        assert.match(pod?.[2] ?? "", /^\d+m$/);
        assert.match(pod?.[3] ?? "", /^[1-9]\d*Mi$/);
      });
    });
});
