import type { Pod, Secret } from "@fjord/kube";
import type { PodObjects } from "../../objects/pod-objects.ts";
import type { PodSource } from "../../pod-source/pod-source.ts";
import type { PodVolumes } from "../../volumes/pod-volumes.ts";
import type { PodStatus } from "../pod-containers.ts";

/** The API of a test: pods, the writes that nodes make to them, and what they refer to. */
export class FakeApi implements PodSource {
  readonly pods = new Map<string, Pod>();
  readonly secrets = new Map<string, Secret>();
  readonly patches: PodStatus[] = [];
  readonly volumeCalls: string[] = [];
  readonly volumeFailures: Error[] = [];
  isCurrent = true;
  /** Whether writes fail. */
  isAway = false;
  #listeners = new Set<(uid: string) => void>();
  #objectListeners = new Set<(uid: string) => void>();

  async started(): Promise<void> {}

  get(uid: string): Pod | undefined {
    return this.pods.get(uid);
  }

  list(): readonly Pod[] {
    return [...this.pods.values()];
  }

  onChange(listener: (uid: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  put(pod: Pod): void {
    const uid = pod.metadata.uid ?? "";
    this.pods.set(uid, pod);
    this.#tell(uid);
  }

  /** As `kubectl delete` does: a grace period first. */
  markDeleted(uid: string, graceSeconds: number): void {
    const pod = this.pods.get(uid);
    if (pod === undefined) return;
    const metadata = {
      ...pod.metadata,
      deletionTimestamp: "2030-01-01T00:00:30Z",
      deletionGracePeriodSeconds: graceSeconds,
    };
    this.put({ ...pod, metadata });
  }

  /** The pod is gone, as after `--force`. */
  drop(uid: string): void {
    this.pods.delete(uid);
    this.#tell(uid);
  }

  objectChanged(uid: string): void {
    for (const listener of this.#objectListeners) listener(uid);
  }

  #tell(uid: string): void {
    for (const listener of this.#listeners) listener(uid);
  }

  readonly client = {
    patch: async (_kind: unknown, key: { name: string }, _type: unknown, patch: unknown) => {
      if (this.isAway) throw new Error("the API is away");
      const { metadata, status } = patch as { metadata: { uid: string }; status: PodStatus };
      const pod = this.pods.get(metadata.uid);
      if (pod === undefined) throw new Error(`no pod ${key.name}`);
      this.patches.push(status);
      const clean = Object.fromEntries(Object.entries(status).filter(([, value]) => value !== null)) as PodStatus;
      const list = <T>(items: T[] | undefined) => items?.filter((item) => !(item as { $patch?: string }).$patch);
      const podIPs = list(clean.podIPs);
      const hostIPs = list(clean.hostIPs);
      const written: Pod = {
        ...pod,
        status: {
          ...clean,
          ...(podIPs && { podIPs }),
          ...(hostIPs && { hostIPs }),
          conditions: mergeConditions(pod.status?.conditions ?? [], clean.conditions ?? []),
        },
      };
      this.put(written);
      return written;
    },
    delete: async (_kind: unknown, _key: unknown, options: { preconditions?: { uid?: string } } = {}) => {
      this.drop(options.preconditions?.uid ?? "");
    },
  };

  readonly objects = {
    configMap: async () => undefined,
    secret: async (_namespace: string, name: string) => this.secrets.get(name),
    claim: async () => undefined,
    persistentVolume: async () => undefined,
    runtimeClass: async (name: string) => ({
      apiVersion: "node.k8s.io/v1" as const,
      kind: "RuntimeClass" as const,
      metadata: { name },
      handler: name,
    }),
    services: async () => [],
    token: async () => {
      throw new Error("no tokens here");
    },
    follow: () => {},
    forget: () => {},
    onChange: (listener: (uid: string) => void) => {
      this.#objectListeners.add(listener);
      return () => this.#objectListeners.delete(listener);
    },
  } satisfies PodObjects;

  readonly volumes: PodVolumes = {
    ensure: async (pod) => {
      this.volumeCalls.push(`ensure ${pod.metadata.name}`);
      const error = this.volumeFailures.shift();
      if (error !== undefined) throw error;
    },
    mounts: async () => [],
    refresh: async (pod) => {
      this.volumeCalls.push(`refresh ${pod.metadata.name}`);
    },
    remove: async (uid) => {
      this.volumeCalls.push(`remove ${uid}`);
    },
  };
}

type Conditions = NonNullable<PodStatus["conditions"]>;

function mergeConditions(before: Conditions, patch: Conditions): Conditions {
  const merged = new Map(before.map((condition) => [condition.type, condition]));
  for (const condition of patch) {
    if ((condition as { $patch?: string }).$patch === "delete") merged.delete(condition.type);
    else merged.set(condition.type, condition);
  }
  return [...merged.values()];
}
