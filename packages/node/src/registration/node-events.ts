import type { Clock } from "@fjord/base";
import type { EventSink, Node } from "@fjord/kube";

type Condition = NonNullable<NonNullable<Node["status"]>["conditions"]>[number];

/** What is told when a condition becomes true, and when it becomes false: the kubelet's words. */
const reasons: Readonly<Record<string, readonly [string, string]>> = {
  Ready: ["NodeReady", "NodeNotReady"],
  MemoryPressure: ["NodeHasInsufficientMemory", "NodeHasSufficientMemory"],
  DiskPressure: ["NodeHasDiskPressure", "NodeHasNoDiskPressure"],
  PIDPressure: ["NodeHasInsufficientPID", "NodeHasSufficientPID"],
};

export interface NodeEventsOptions {
  readonly nodeName: string;
  readonly events: EventSink;
  readonly clock: Clock;
}

/** Tells what becomes of a node as events about it, where `kubectl describe node` shows them. */
export class NodeEvents {
  readonly #options: NodeEventsOptions;
  readonly #told = new Map<string, string>();
  readonly #since: number;

  constructor(options: NodeEventsOptions) {
    this.#options = options;
    // The API's times are whole seconds.
    this.#since = Math.floor(options.clock.now() / 1000) * 1000;
  }

  starting(): void {
    this.#tell("Starting", "Starting kubelet.");
  }

  /** Looks at the Node as the API has it. What had changed before this process began was told then. */
  see({ status }: Node): void {
    for (const condition of status?.conditions ?? []) {
      const reason = this.#news(condition);
      if (reason !== undefined) this.#tell(reason, `Node ${this.#options.nodeName} status is now: ${reason}`);
    }
  }

  #news({ type, status, lastTransitionTime }: Condition): string | undefined {
    // Others say Unknown of a node that is silent: that is their event.
    if (status !== "True" && status !== "False") return undefined;
    const change = `${status} ${lastTransitionTime}`;
    if (this.#told.get(type) === change || Date.parse(lastTransitionTime ?? "") < this.#since) return undefined;
    this.#told.set(type, change);
    return reasons[type]?.[status === "True" ? 0 : 1];
  }

  #tell(reason: string, message: string): void {
    const { nodeName, events } = this.#options;
    // Events of nodes are found by the name in place of the uid.
    const node = { apiVersion: "v1", kind: "Node", metadata: { name: nodeName, uid: nodeName } };
    events.event(node, { type: "Normal", reason, message });
  }
}
