import { type Clock, describeError, type Logger, onAbort, type Random } from "@fjord/base";
import type { EventSink, Pod, Writer } from "@fjord/kube";
import type { ContainerAddress } from "../kubelet-api/backend.ts";
import type { PodObjects } from "../objects/pod-objects.ts";
import type { PodSource } from "../pod-source/pod-source.ts";
import { NodeLedger } from "../resources/node-ledger.ts";
import type { Runtime, RuntimeContainer, RuntimeSandbox } from "../runtime/index.ts";
import type { PodVolumes } from "../volumes/pod-volumes.ts";
import { ImagePuller } from "./image/image-puller.ts";
import { defaultRestartTiming, type RestartTiming } from "./plan/restart-delay.ts";
import { hasBegun, uidOf } from "./pod-containers.ts";
import type { PodSettings } from "./pod-settings.ts";
import { StatusWriter } from "./status/status-writer.ts";
import { CallLimit } from "./worker/call-limit.ts";
import { Housekeeping } from "./worker/housekeeping.ts";
import { OrphanSweep } from "./worker/orphan-sweep.ts";
import { PodBeginning } from "./worker/pod-beginning.ts";
import type { PodServices } from "./worker/pod-services.ts";
import type { PodWorker } from "./worker/pod-worker.ts";
import { RuntimeView } from "./worker/runtime-view.ts";

export interface PodManagerOptions {
  readonly source: PodSource;
  readonly objects: PodObjects;
  readonly volumes: PodVolumes;
  readonly client: Pick<Writer, "patch" | "delete">;
  readonly events: EventSink;
  /** All runtimes of the node. */
  readonly runtimes: readonly Runtime[];
  /** The one for a RuntimeClass' handler, which is empty for the default. Undefined where the node has none. */
  readonly runtimeOf: (handler: string) => Runtime | undefined;
  readonly settings: PodSettings;
  /** Reads the Node's labels anew into the settings: a pod may be bound by a label that others have just given it. */
  readonly refreshLabels?: (signal: AbortSignal) => Promise<void>;
  /** What the node runs so short of that no such pod may begin now; undefined where it may. */
  readonly shortage?: (pod: Pod) => string | undefined;
  /** How many calls that make sandboxes and containers may be under way at once. @default 16 */
  readonly parallelCalls?: number;
  readonly restartTiming?: Partial<RestartTiming>;
  /** How long a runtime is not listed while it tells of no change. @default 30_000 */
  readonly relistMs?: number;
  /** How often volumes are refreshed, and what is left of gone pods is looked for. @default 60_000 */
  readonly tidyMs?: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Where a container of a pod is. */
export interface LocatedContainer {
  readonly runtime: Runtime;
  readonly sandbox: RuntimeSandbox;
  readonly container: RuntimeContainer;
}

/** Keeps all pods of a node as their specs say. */
export class PodManager {
  readonly #options: PodManagerOptions;
  readonly #views: ReadonlyMap<Runtime, RuntimeView>;
  readonly #services: PodServices;
  /** Pods whose runtime is not known yet. */
  readonly #beginnings = new Map<string, PodBeginning>();
  readonly #workers = new Map<string, PodWorker>();
  readonly #housekeeping: Housekeeping;
  #signal: AbortSignal | undefined;

  constructor(options: PodManagerOptions) {
    this.#options = options;
    const { clock, parallelCalls = 16, restartTiming, runtimes } = options;
    const onChange = (uid: string) => this.#observe(uid);
    this.#views = new Map(runtimes.map((runtime) => [runtime, new RuntimeView({ ...options, runtime, onChange })]));
    this.#services = {
      ...options,
      statuses: new StatusWriter({ ...options, onWritten: (uid) => this.#workers.get(uid)?.wake() }),
      puller: new ImagePuller({ clock }),
      calls: new CallLimit(parallelCalls),
      ledger: new NodeLedger({
        nodeName: options.settings.nodeName,
        allocatable: () => options.settings.allocatable,
        onRoom: () => {
          for (const worker of this.#workers.values()) worker.roomMade();
        },
        ...(options.settings.labels && { labels: () => options.settings.labels ?? {} }),
        ...(options.settings.allowedSysctls && { allowedSysctls: options.settings.allowedSysctls }),
      }),
      timing: { ...defaultRestartTiming, ...restartTiming },
    };
    const views = [...this.#views.values()];
    this.#housekeeping = new Housekeeping({
      ...options,
      views,
      sweep: new OrphanSweep({ ...this.#services, views, isKept: (uid) => this.#isKept(uid) }),
      refreshVolumes: () => {
        for (const worker of this.#workers.values()) worker.refreshVolumes();
      },
      ...(options.tidyMs !== undefined && { intervalMs: options.tidyMs }),
    });
  }

  /** Works until the signal aborts; what runs then goes on running. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    const { source, objects } = this.#options;
    const views = [...this.#views.values()];
    const running = [this.#services.statuses.run(signal), ...views.map((view) => view.run(signal))];
    await source.started(signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    const release = [
      source.onChange((uid) => this.#look(uid, signal)),
      objects.onChange((uid) => this.#workers.get(uid)?.objectChanged()),
    ];
    // Those that run already have their room before others ask for it.
    for (const pod of source.list()) if (hasBegun(pod)) this.#services.ledger.enter(pod);
    for (const pod of source.list()) this.#look(uidOf(pod), signal);
    running.push(this.#housekeeping.run(signal));
    await new Promise<void>((resolve) => onAbort(signal, resolve));
    for (const end of release) end();
    for (const worker of this.#workers.values()) worker.stop();
    await Promise.all(running);
  }

  /** The pods of this node, each with its current status. */
  pods(): readonly Pod[] {
    return [
      ...[...this.#beginnings.values()].map(({ pod }) => pod),
      ...[...this.#workers.values()].map(({ pod }) => pod),
    ];
  }

  /** The pod of a name, or of a uid where one is given. */
  pod(address: Omit<ContainerAddress, "container">): Pod | undefined {
    return this.pods().find((pod) => isMeant(pod, address));
  }

  /** The present container of a name, or the one before it. */
  container(address: ContainerAddress, which: "current" | "previous" = "current"): LocatedContainer | undefined {
    const worker = this.#workerOf(address);
    if (worker === undefined) return undefined;
    const { view, pod } = worker;
    const observed = view.get(uidOf(pod));
    const container = observed.containers.get(address.container)?.[which === "current" ? 0 : 1];
    const sandbox = observed.sandboxes.find(({ id }) => id === container?.sandbox);
    return container && sandbox && { runtime: view.runtime, sandbox, container };
  }

  /** The pod's sandbox, whatever its state. */
  sandbox(
    address: Omit<ContainerAddress, "container">,
  ): { readonly runtime: Runtime; readonly sandbox: RuntimeSandbox } | undefined {
    const worker = this.#workerOf(address);
    const sandbox = worker?.view.get(uidOf(worker.pod)).sandbox;
    return worker && sandbox && { runtime: worker.view.runtime, sandbox };
  }

  /** Ends a pod to relieve the node. */
  evict(podUid: string, message: string, graceSeconds?: number): void {
    this.#workers.get(podUid)?.evict(message, graceSeconds);
  }

  /** Something of the pod has changed in a runtime. */
  #observe(uid: string): void {
    if (this.#isKept(uid)) this.#workers.get(uid)?.wake();
    else if (this.#signal !== undefined) this.#housekeeping.strayed(this.#signal);
  }

  #isKept(uid: string): boolean {
    return this.#workers.has(uid) || this.#beginnings.has(uid);
  }

  readonly #failed = (error: unknown): void => {
    this.#options.logger.error("cannot begin with a pod", { error: describeError(error) });
  };

  #workerOf(address: Omit<ContainerAddress, "container">): PodWorker | undefined {
    return [...this.#workers.values()].find(({ pod }) => isMeant(pod, address));
  }

  #look(uid: string, signal: AbortSignal): void {
    const worker = this.#workers.get(uid);
    const beginning = this.#beginnings.get(uid);
    worker?.wake();
    beginning?.retryNow();
    const pod = this.#options.source.get(uid);
    if (worker !== undefined || beginning !== undefined || pod === undefined) return;
    const views = [...this.#views.values()];
    const viewOf = (handler: string) => {
      const runtime = this.#options.runtimeOf(handler);
      return runtime && this.#views.get(runtime);
    };
    const onGone = () => {
      this.#workers.get(uid)?.stop();
      this.#workers.delete(uid);
    };
    const fresh = new PodBeginning({ ...this.#services, pod, views, viewOf, signal, onGone });
    this.#beginnings.set(uid, fresh);
    void fresh.worker().then((worker) => {
      this.#beginnings.delete(uid);
      if (worker === undefined || signal.aborted) return;
      this.#workers.set(uid, worker);
      worker.wake();
    }, this.#failed);
  }
}

function isMeant({ metadata }: Pod, { namespace, pod, uid }: Omit<ContainerAddress, "container">): boolean {
  return metadata.namespace === namespace && metadata.name === pod && (uid ?? metadata.uid) === metadata.uid;
}
