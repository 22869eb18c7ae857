import { mkdir, writeFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { type Clock, type Random, systemClock } from "@fjord/base";
import { clusterConfig, KubeClient, kubeconfigOf } from "@fjord/kube";
import type { Binaries } from "../binaries/find.ts";
import { Authority } from "../certificates.ts";
import { NotReadyError, ProcessEndedError } from "../errors.ts";
import type { ManagedProcess } from "../managed-process.ts";
import { freePorts } from "../ports.ts";
import type { Site, StartOptions } from "../site.ts";
import { siteFiles, siteServer } from "../site-layout.ts";
import { waitFor } from "../wait.ts";
import { NoMetricsAddressError } from "./errors.ts";
import { metricsApi, metricsServerObjects, metricsServerUser } from "./metrics-server-objects.ts";

export interface MetricsServerOptions extends Partial<StartOptions> {
  /** With the set `metrics-server`. */
  readonly binaries: Binaries;
  readonly clock?: Clock;
  readonly random?: Random;
}

const fieldManager = "fjord-testbed";

/**
 * Gives a site the real metrics-server, as a process on the host, and waits until it has metrics of some node: from then
 * on `kubectl top` works.
 */
export async function startMetricsServer(site: Site, options: MetricsServerOptions): Promise<ManagedProcess> {
  const { binaries, clock = systemClock, random = Math.random, timeout = 120_000, signal } = options;
  const address = addressOf(site);
  const [port = 0] = await freePorts(1, address, random);
  const directory = join(site.layout.directory, "metrics-server");
  const kubeconfig = await writeKubeconfig(site, directory, clock.now());
  const server = site.addProcess({
    name: "metrics-server",
    file: binaries.path("metrics-server"),
    args: [
      `--bind-address=${address}`,
      `--secure-port=${port}`,
      `--cert-dir=${directory}`,
      `--kubeconfig=${kubeconfig}`,
      `--authentication-kubeconfig=${kubeconfig}`,
      `--authorization-kubeconfig=${kubeconfig}`,
      `--kubelet-certificate-authority=${siteFiles(site.layout).certificate("ca")}`,
      "--kubelet-preferred-address-types=InternalIP",
      "--kubelet-use-node-status-port",
      // The least that it takes.
      "--metric-resolution=10s",
      "--kubelet-request-timeout=5s",
    ],
  });
  const client = new KubeClient(site.config);
  try {
    for (const { kind, object } of metricsServerObjects(address, port)) {
      await client.apply(kind, object, { fieldManager, force: true });
    }
  } finally {
    await client.close();
  }
  await server.start();
  const what = `${metricsApi} to have metrics of a node`;
  let last = "nothing";
  const serves = await waitFor(
    async () => {
      const { status, text } = await site.get("/apis/metrics.k8s.io/v1beta1/nodes");
      last = `HTTP ${status} ${text.slice(0, 200)}`;
      if (!server.running) throw endedError(site, server, what);
      return status === 200 && (JSON.parse(text) as { items: unknown[] }).items.length > 0;
    },
    { clock, timeout, interval: 500, ...(signal && { signal }) },
  );
  if (serves) return server;
  throw new NotReadyError({ site: site.name, what, seconds: Math.round(timeout / 1000), last });
}

function endedError(site: Site, server: ManagedProcess, what: string): Error {
  const { log } = server.record;
  return new ProcessEndedError({ process: server.name, site: site.name, what, log, tail: server.logTail() });
}

async function writeKubeconfig(site: Site, directory: string, now: number): Promise<string> {
  const authority = await Authority.load(siteFiles(site.layout).pki, "ca");
  const pair = await authority.issue({ commonName: metricsServerUser, usages: ["client"] }, now);
  const config = clusterConfig({
    server: siteServer(site.layout),
    ca: authority.certificate,
    cert: pair.certificate,
    key: pair.key,
  });
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const file = join(directory, "kubeconfig");
  await writeFile(file, await kubeconfigOf(config, site.name), { mode: 0o600 });
  return file;
}

/** An endpoint may not be a loopback address: without a bridge, one of the machine's own serves. */
function addressOf(site: Site): string {
  const own = Object.values(networkInterfaces())
    .flat()
    .find((each) => each !== undefined && !each.internal && each.family === "IPv4");
  const address = site.layout.nodeNetwork?.address ?? own?.address;
  if (address === undefined) throw new NoMetricsAddressError({ site: site.name });
  return address;
}
