import type { Pod } from "@fjord/kube";
import { inThousandths, inUnits, podRequests, type ResourceAmounts, selectsNode } from "@fjord/kube";
import { conflicts, type HostPort, hostPortsOf } from "./host-ports.ts";
import { unreadableQuantities } from "./pod-quantities.ts";
import { forbiddenSysctl } from "./sysctls.ts";

/** Why a pod may not run on the node. */
export interface Refusal {
  readonly reason: string;
  readonly message: string;
}

export interface NodeLedgerOptions {
  readonly nodeName: string;
  /** Absent: selectors are not looked at. */
  readonly labels?: () => Readonly<Record<string, string>>;
  /** Processors in thousandths, everything else in its unit. What is not named is not counted, but huge pages. */
  readonly allocatable: () => Readonly<Record<string, number>>;
  /** Kernel settings beyond the safe ones that pods may have. */
  readonly allowedSysctls?: readonly string[];
  /** Told when a pod has given its share back. */
  readonly onRoom?: () => void;
}

interface Entry {
  readonly requests: ReadonlyMap<string, number>;
  readonly ports: readonly HostPort[];
}

/** What the pods of a node have been promised, and what is left to promise. */
export class NodeLedger {
  readonly #options: NodeLedgerOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #used = new Map<string, number>();

  constructor(options: NodeLedgerOptions) {
    this.#options = options;
  }

  /** Enters a pod if there is room for it; else says why not. A pod that is entered already stays so. */
  admit(pod: Pod): Refusal | undefined {
    if (this.#entries.has(pod.metadata.uid ?? "")) return undefined;
    const refusal = this.#refusal(pod);
    if (refusal === undefined) this.enter(pod);
    return refusal;
  }

  /** Enters a pod that runs already, room or not; what it was entered with before no longer counts. */
  enter(pod: Pod): void {
    const uid = pod.metadata.uid ?? "";
    this.#strike(uid);
    // What cannot be read cannot be counted; the pod runs all the same.
    const requests = unreadableQuantities(pod).length > 0 ? new Map() : wholeAmounts(podRequests(pod));
    const entry = { requests, ports: hostPortsOf(pod) };
    this.#entries.set(uid, entry);
    this.#count(entry, 1);
  }

  leave(podUid: string): void {
    if (this.#strike(podUid)) this.#options.onRoom?.();
  }

  #strike(podUid: string): boolean {
    const entry = this.#entries.get(podUid);
    if (entry === undefined) return false;
    this.#entries.delete(podUid);
    this.#count(entry, -1);
    return true;
  }

  /**
   * Extended resources (`example.com/gpu`) that the pod asks for and the node does not have. As at Kubernetes' own
   * kubelet they hinder no pod: they may be the whole cluster's, of which only its scheduler knows.
   */
  uncounted(pod: Pod): string[] {
    const allocatable = this.#options.allocatable();
    return [...wholeAmounts(podRequests(pod))].flatMap(([resource, requested]) =>
      isExtended(resource) && requested > 0 && allocatable[resource] === undefined ? [resource] : [],
    );
  }

  /** The resource of which the pod asks for more than is left beside the others. */
  shortage(pod: Pod): { resource: string; requested: number; used: number; capacity: number } | undefined {
    const own = this.#entries.get(pod.metadata.uid ?? "")?.requests;
    const allocatable = this.#options.allocatable();
    for (const [resource, requested] of wholeAmounts(podRequests(pod))) {
      // Pages of a size that the machine does not have are none; of what else is not named, nothing is known.
      const capacity = allocatable[resource] ?? (resource.startsWith("hugepages-") ? 0 : undefined);
      const used = (this.#used.get(resource) ?? 0) - (own?.get(resource) ?? 0);
      if (capacity !== undefined && requested > 0 && used + requested > capacity) {
        return { resource, requested, used, capacity };
      }
    }
    return undefined;
  }

  /** The resource of which the pod asks for more than the node has, even if it were alone on it. */
  excess(pod: Pod): { resource: string; requested: number; capacity: number } | undefined {
    const allocatable = this.#options.allocatable();
    for (const [resource, requested] of wholeAmounts(podRequests(pod))) {
      const capacity = allocatable[resource];
      if (capacity !== undefined && requested > capacity) return { resource, requested, capacity };
    }
    return undefined;
  }

  #refusal(pod: Pod): Refusal | undefined {
    const { nodeName, labels, allowedSysctls } = this.#options;
    const unreadable = unreadableQuantities(pod);
    if (unreadable.length > 0) return { reason: "UnexpectedAdmissionError", message: unreadable.join("; ") };
    const sysctl = forbiddenSysctl(pod, allowedSysctls);
    if (sysctl !== undefined) {
      return { reason: "SysctlForbidden", message: `forbidden sysctl: "${sysctl}" not allowlisted` };
    }
    if (labels !== undefined && !selectsNode(pod, { name: nodeName, labels: labels() })) {
      return {
        reason: "NodeAffinity",
        message: "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
      };
    }
    const os = pod.spec?.os?.name;
    if (os !== undefined && os !== "linux") {
      return { reason: "PodOSNotSupported", message: "Failed to admit pod as the OS field doesn't match node OS" };
    }
    const wanted = hostPortsOf(pod);
    const taken = wanted.length === 0 ? [] : [...this.#entries.values()].flatMap(({ ports }) => ports);
    if (wanted.some((port) => taken.some((other) => conflicts(port, other)))) {
      const message = "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports";
      return { reason: "NodePorts", message };
    }
    return this.#full(pod);
  }

  #full(pod: Pod): Refusal | undefined {
    const { pods } = this.#options.allocatable();
    if (pods !== undefined && this.#entries.size + 1 > pods) {
      return outOf({ resource: "pods", requested: 1, used: this.#entries.size, capacity: pods });
    }
    const shortage = this.shortage(pod);
    return shortage && outOf(shortage);
  }

  #count({ requests }: Entry, sign: 1 | -1): void {
    for (const [name, amount] of requests) this.#used.set(name, (this.#used.get(name) ?? 0) + sign * amount);
  }
}

function outOf(shortage: { resource: string; requested: number; used: number; capacity: number }): Refusal {
  const { resource, requested, used, capacity } = shortage;
  const amounts = `requested: ${requested}, used: ${used}, capacity: ${capacity}`;
  return { reason: `OutOf${resource}`, message: `Node didn't have enough resource: ${resource}, ${amounts}` };
}

/** Whether a resource is none of Kubernetes' own, whose names have no domain, or Kubernetes'. */
function isExtended(resource: string): boolean {
  return resource.includes("/") && !resource.includes("kubernetes.io/");
}

function wholeAmounts(amounts: ResourceAmounts): ReadonlyMap<string, number> {
  return new Map(
    [...amounts].map(([name, amount]) => [name, name === "cpu" ? inThousandths(amount) : inUnits(amount)]),
  );
}
