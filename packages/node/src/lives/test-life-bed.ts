import assert from "node:assert/strict";
import { sleep, systemClock } from "@fjord/base";
import { KubeClient, Namespace } from "@fjord/kube";
import type { ManagedProcess, Site } from "@fjord/testbed";
import type { WitnessPlace } from "./test-witness.ts";

/** What can be killed. `etcd` is only frozen: it comes back with what it had, and the API hangs meanwhile. */
export type Part = "node" | "runtime" | "api" | "etcd";

/** How far a pod has come on the machine, whatever the node or the API say. */
export interface Traces {
  readonly sandboxes: number;
  readonly containers: number;
}

/** A control plane and a node of ours, each part of which can be killed and started again. */
export interface LifeBed extends AsyncDisposable {
  readonly site: Site;
  readonly admin: KubeClient;
  readonly nodeName: string;
  readonly namespace: string;
  readonly place: WitnessPlace;
  /** The witness directory as this process sees it. */
  readonly witnessDirectory: string;
  /** Those that can be killed without taking containers with them. */
  readonly parts: readonly Part[];
  /** The node's process. */
  readonly node: ManagedProcess;
  /** kill -9. */
  kill(part: Part): Promise<void>;
  start(part: Part): Promise<void>;
  traces(uid: string): Traces;
  /** Ids of containers that have processes, of one pod or of all; sandboxes are counted apart. */
  running(uid: string): { readonly containers: readonly string[]; readonly sandboxes: number };
  /** Whatever there still is of a pod: processes, control groups, mounts, files. */
  remains(uid: string): string[];
  /** What the runtime has beyond what so many pods need: sandboxes, their shims, their addresses. */
  surplus(pods: number): string[];
  /** Kills the programs of a pod's containers, as if they had failed. */
  crash(uid: string): void;
  /** Kills the node and all that its pods run, as a power cut does, and starts nothing again. */
  powerCut(): Promise<void>;
  powerOn(): Promise<void>;
}

/** Waits for what has to come; says what the last look gave where it does not. */
export async function until<T>(
  what: string,
  condition: () => Promise<T | undefined | false> | T | undefined | false,
  options: { seconds?: number; every?: number; more?: () => string } = {},
): Promise<T> {
  const { seconds = 90, every = 100, more } = options;
  let last: unknown;
  for (const end = systemClock.now() + seconds * 1000; ; await sleep(systemClock, every)) {
    try {
      const result = await condition();
      if (result) return result;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (systemClock.now() < end) continue;
    assert.fail(
      `not within ${seconds} s: ${what}${last === undefined ? "" : ` (${last})`}${more ? `\n${more()}` : ""}`,
    );
  }
}

/** A client and a namespace in which pods can be made. */
export async function openNamespace(site: Site, namespace: string): Promise<KubeClient> {
  const admin = new KubeClient(site.config, { closeGraceMs: 500 });
  await admin.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  await until("the service account", async () => {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/default`;
    return (await admin.raw("GET", path)).statusCode === 200;
  });
  return admin;
}

/** Kills or freezes a part of the control plane. */
export async function killControl(site: Site, part: "api" | "etcd"): Promise<void> {
  if (part === "api") await site.process("kube-apiserver").kill();
  else await site.process("etcd").pause();
}

export async function startControl(site: Site, part: "api" | "etcd"): Promise<void> {
  if (part === "api") await site.process("kube-apiserver").start();
  else await site.process("etcd").resume();
}
