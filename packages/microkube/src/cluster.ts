import type { Clock, KubeObject, Logger, Random } from "@fjord/base";
import type { ResourceType } from "./kinds/resource-type.ts";
import type { StoredObject, StoreEvent } from "./store/store.ts";

/** Who asks. */
export interface Caller {
  readonly user: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** The control plane to itself: full rights, no authentication. */
export const SYSTEM: Caller = { user: "system:apiserver", groups: ["system:masters"] };

export interface CallOptions {
  readonly caller?: Caller;
  readonly dryRun?: boolean;
  readonly fieldManager?: string;
  readonly subresource?: string;
  /** The real server writes it down without saying who did: a binding. @default false */
  readonly ownsNothing?: boolean;
}

export interface DeleteCallOptions extends CallOptions {
  readonly uid?: string;
  /** DeleteOptions as somebody sent them within another request: an Eviction. */
  readonly deleteOptions?: {
    readonly gracePeriodSeconds?: number;
    readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
    readonly orphanDependents?: boolean;
    readonly propagationPolicy?: string;
  };
}

/** The resources that are served now; custom ones come and go. */
export interface ResourceTypes {
  /** By what a path names. */
  find(group: string, version: string, plural: string): ResourceType | undefined;
  ofKind(group: string, kind: string): ResourceType | undefined;
  list(): readonly ResourceType[];
  onChange(listener: () => void): () => void;
}

/**
 * The API from inside the process: what admission, strategies and the server's own upkeep work with. Each write goes
 * through the same rules as one over HTTP. The workload controllers and the scheduler do not use it: they are clients
 * (`@fjord/kube`) as on any cluster.
 */
export interface Cluster {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly types: ResourceTypes;
  /** Current objects are shared and frozen: `structuredClone` before a change. */
  get(type: ResourceType, namespace: string, name: string): KubeObject | undefined;
  list(type: ResourceType, namespace?: string): readonly KubeObject[];
  create(type: ResourceType, namespace: string, object: KubeObject, options?: CallOptions): Promise<KubeObject>;
  /** Reads, changes, writes, and does so again where somebody was faster; undefined from `change`: leave it. */
  modify(
    type: ResourceType,
    namespace: string,
    name: string,
    change: (object: KubeObject) => KubeObject | undefined,
    options?: CallOptions,
  ): Promise<KubeObject | undefined>;
  delete(type: ResourceType, namespace: string, name: string, options?: DeleteCallOptions): Promise<void>;
  /** What is there, then what changes, as frozen objects; returns what ends it. */
  follow(type: ResourceType, listener: (event: { type: StoreEvent["type"]; object: KubeObject }) => void): () => void;
  parse(stored: StoredObject): KubeObject;
}
