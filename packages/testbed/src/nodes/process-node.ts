import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Clock, systemClock } from "@fjord/base";
import { clusterConfig, kubeconfigOf } from "@fjord/kube";
import { Authority } from "../certificates.ts";
import { NotReadyError } from "../errors.ts";
import type { ManagedProcess } from "../managed-process.ts";
import { freePorts } from "../ports.ts";
import type { Site, StartOptions } from "../site.ts";
import { siteFiles, siteServer } from "../site-layout.ts";
import { waitFor } from "../wait.ts";
import { cgroupMounts } from "./cgroups.ts";
import { readyCondition } from "./node-ready.ts";

const program = fileURLToPath(new URL("cli.ts", import.meta.resolve("@fjord/node")));

export interface ProcessNodeOptions extends Partial<StartOptions> {
  readonly name: string;
  /** Id of the bed that the site is of. */
  readonly bed: string;
  /** As in `key=value:NoSchedule`. */
  readonly taint?: string;
  readonly clock?: Clock;
}

/** Gives a site one of Fjord's own nodes that runs pods as processes of this machine, and waits until it is Ready. */
export async function startProcessNode(site: Site, options: ProcessNodeOptions): Promise<ManagedProcess> {
  const { name, taint, clock = systemClock, timeout = 60_000, signal } = options;
  const directory = join(site.layout.directory, name);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const [port = 0] = await freePorts(1, "127.0.0.1", Math.random);
  const flags = {
    kubeconfig: await writeKubeconfig(site, name, directory, clock.now()),
    "node-name": name,
    "node-ip": "127.0.0.1",
    address: "127.0.0.1",
    port: String(port),
    "state-dir": join(directory, "state"),
    runtime: "process",
    "cgroup-root": await reserveCgroup(site, options),
    // Whatever else this machine is busy with is no reason to end the pods of a test.
    "eviction-hard": "memory.available<1Mi",
    ...(taint !== undefined && { taint }),
  };
  const node = site.addProcess({
    name,
    file: process.execPath,
    args: [program, "run", ...Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`)],
    env: { PATH: process.env.PATH ?? "" },
  });
  await node.start();
  let last = "nothing";
  const ready = await waitFor(
    async () => {
      const condition = await readyCondition(site, name);
      last = typeof condition === "string" ? condition : condition.message;
      return typeof condition !== "string" && condition.status === "True";
    },
    { clock, timeout, interval: 100, ...(signal && { signal }) },
  );
  if (ready) return node;
  const seconds = Math.round(timeout / 1000);
  throw new NotReadyError({ site: site.name, what: `node ${name} to be Ready`, seconds, last });
}

async function writeKubeconfig(site: Site, name: string, directory: string, now: number): Promise<string> {
  const authority = await Authority.load(siteFiles(site.layout).pki, "ca");
  const subject = { commonName: `system:node:${name}`, organizations: ["system:nodes"] };
  const { certificate: cert, key } = await authority.issue(subject, now);
  const config = clusterConfig({ server: siteServer(site.layout), ca: authority.certificate, cert, key });
  const file = join(directory, "kubeconfig");
  await writeFile(file, await kubeconfigOf(config, site.name), { mode: 0o600 });
  return file;
}

/** A control group that goes with the bed, and all that runs in it. */
async function reserveCgroup(site: Site, { bed, name }: ProcessNodeOptions): Promise<string> {
  const path = `/fj${bed}-${name}`;
  for (const mount of cgroupMounts(await readFile("/proc/mounts", "utf8")))
    site.addResource({ kind: "cgroup", id: join(mount, path) });
  return path;
}
