import type { KubeObject } from "@fjord/base";
import { ApiError, type KubeClient, type ObjectKey, type ObjectList, type Pod, type WatchEvent } from "@fjord/kube";

type Api = Pick<KubeClient, "get" | "list" | "watch" | "patch" | "delete">;

/** An API with pods for tests: it takes statuses and deletions, and keeps pods as text, so that whatever else stays is the other side's. */
export class TestPodApi implements Api {
  readonly patches: { readonly name: string; readonly status: NonNullable<Pod["status"]> }[] = [];
  readonly deletions: string[] = [];
  /** Whether statuses that were written are remembered. */
  keepsPatches = true;
  /** Whether the watch shows only what `showEvents` lets through. */
  holdsEvents = false;
  #shown = 0;
  /** Called before a status is written: what comes first at the API. */
  beforePatch = () => {};
  /** Whether writes fail, as they do while an API server is away. */
  isAway = false;
  writes = 0;
  lists = 0;
  readonly #pods = new Map<string, string>();
  readonly #events: WatchEvent<Pod>[] = [];
  #revision = 1;
  #isCut = false;
  #wake = () => {};

  /** Makes or replaces a pod. */
  put(pod: Pod): void {
    const key = `${pod.metadata.namespace}/${pod.metadata.name}`;
    const before = this.#pods.get(key);
    this.#emit(before === undefined ? "ADDED" : "MODIFIED", pod);
  }

  pod(name: string, namespace = "default"): Pod | undefined {
    const text = this.#pods.get(`${namespace}/${name}`);
    return text === undefined ? undefined : (JSON.parse(text) as Pod);
  }

  /** What this side holds of the pods. */
  get textBytes(): number {
    return this.#pods.values().reduce((sum, text) => sum + text.length, 0);
  }

  /** Asks for a pod's deletion, as kubectl does. */
  requestDeletion(name: string, graceSeconds: number): void {
    const pod = this.pod(name);
    if (pod === undefined) return;
    pod.metadata.deletionTimestamp = new Date(0).toISOString();
    pod.metadata.deletionGracePeriodSeconds = graceSeconds;
    this.#emit("MODIFIED", pod);
  }

  async get<T extends KubeObject>(_kind: unknown, { name, namespace }: ObjectKey): Promise<T> {
    const pod = this.pod(name, namespace);
    if (pod === undefined) throw notFound(name);
    return pod as unknown as T;
  }

  async list<T extends KubeObject>(): Promise<ObjectList<T>> {
    this.lists++;
    const items = [...this.#pods.values()].map((text) => JSON.parse(text) as T);
    return { apiVersion: "v1", kind: "PodList", metadata: { resourceVersion: String(this.#revision) }, items };
  }

  async *watch<T extends KubeObject>(_kind: unknown, options: { signal?: AbortSignal } = {}) {
    options.signal?.addEventListener("abort", () => this.#wake());
    this.#isCut = false;
    while (!options.signal?.aborted && !this.#isCut) {
      const event = this.holdsEvents && this.#shown === 0 ? undefined : this.#events.shift();
      if (event !== undefined) {
        this.#shown = Math.max(0, this.#shown - 1);
        yield event as unknown as WatchEvent<T>;
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }

  showEvents(count = 0): void {
    this.#shown += count;
    this.#wake();
  }

  /** Ends the watch, as servers do with whoever is slow. */
  cutWatch(): void {
    this.#isCut = true;
    this.#wake();
  }

  async patch<T extends KubeObject>(_kind: unknown, { name, namespace }: ObjectKey, _type: string, patch: unknown) {
    this.#refuseIfAway();
    this.beforePatch();
    const pod = this.pod(name, namespace);
    const { metadata, status } = JSON.parse(JSON.stringify(patch)) as Required<Pick<Pod, "metadata" | "status">>;
    if (pod === undefined || pod.metadata.uid !== metadata.uid) throw notFound(name);
    const lists = ["hostIPs", "podIPs"] as const;
    for (const list of lists) {
      const items = status[list] as Record<string, unknown>[] | undefined;
      if (Array.isArray(items)) Object.assign(status, { [list]: items.filter((item) => !("$patch" in item)) });
    }
    const conditions = (status.conditions ?? []).filter((condition) => !("$patch" in condition));
    pod.status = { ...pod.status, ...status, conditions };
    for (const [field, value] of Object.entries(pod.status)) {
      if (value === null) delete (pod.status as Record<string, unknown>)[field];
    }
    this.writes++;
    if (this.keepsPatches) this.patches.push({ name, status: pod.status });
    this.#emit("MODIFIED", pod);
    return pod as unknown as T;
  }

  async delete(_kind: unknown, { name, namespace }: ObjectKey): Promise<void> {
    this.#refuseIfAway();
    const key = `${namespace}/${name}`;
    const text = this.#pods.get(key);
    if (text === undefined) throw notFound(name);
    this.#pods.delete(key);
    this.deletions.push(name);
    const pod = JSON.parse(text) as Pod;
    this.#push({ type: "DELETED", object: { ...pod, metadata: { ...pod.metadata, resourceVersion: this.#next() } } });
  }

  #emit(type: "ADDED" | "MODIFIED", pod: Pod): void {
    pod.metadata.resourceVersion = this.#next();
    const text = JSON.stringify(pod);
    this.#pods.set(`${pod.metadata.namespace}/${pod.metadata.name}`, text);
    this.#push({ type, object: JSON.parse(text) as Pod });
  }

  #refuseIfAway(): void {
    if (this.isAway) throw new Error("connection refused");
  }

  #next(): string {
    this.#revision++;
    return String(this.#revision);
  }

  #push(event: WatchEvent<Pod>): void {
    this.#events.push(event);
    this.#wake();
  }
}

function notFound(name: string): ApiError {
  const status = { kind: "Status", status: "Failure", reason: "NotFound", message: `${name} not found`, code: 404 };
  return new ApiError({ action: `change Pod ${name}`, statusCode: 404, status });
}
