import { cp, rm } from "node:fs/promises";
import type { RealNode } from "../nodes/node.ts";
import type { Site } from "../site.ts";
import { siteFiles } from "../site-layout.ts";

/** Keeps what a site's API knows at this moment, as a power cut would leave it. Returns where. */
export async function keepState(site: Site): Promise<string> {
  const { etcdData } = siteFiles(site.layout);
  const copy = `${etcdData}-${Date.now()}`;
  const etcd = site.process("etcd");
  await etcd.pause();
  await cp(etcdData, copy, { recursive: true });
  await etcd.resume();
  return copy;
}

/**
 * Puts a site's API back to what it was. Its agents, gateways and containers go on. What of Kubernetes watches it is started anew, as its documentation asks for: it would
 * wait for revisions that come later, and miss all until then.
 */
export async function putBack(site: Site, nodes: readonly RealNode[], copy: string): Promise<void> {
  const { etcdData } = siteFiles(site.layout);
  const parts = ["kube-scheduler", "kube-controller-manager", "kube-apiserver", "etcd"];
  for (const part of parts) await site.process(part).kill();
  await rm(etcdData, { recursive: true, force: true });
  await cp(copy, etcdData, { recursive: true });
  await site.start({ timeout: 120_000 });
  for (const node of nodes)
    for (const part of node.processes.filter((each) => each.startsWith("kube"))) {
      await node.process(part).kill();
      await node.process(part).start();
    }
}
