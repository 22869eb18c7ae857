import type { KubeObject } from "@fjord/base";
import type { Caller, Cluster } from "../cluster.ts";
import type { FieldError } from "../field-error.ts";
import type { Steps } from "../pace.ts";
import type { WrittenKeys } from "../schema/json-text.ts";
import type { Schema } from "../schema/schema.ts";
import type { NameRule } from "./values/name.ts";

/** A resource that is served: built in, or defined by a CustomResourceDefinition. One object of this per resource. */
export interface ResourceType {
  /** Empty for the core group. */
  readonly group: string;
  /** The version that objects are kept in. */
  readonly version: string;
  /** All versions that are served, best first; others than `version` need `convert`. */
  readonly versions: readonly string[];
  readonly kind: string;
  /** @default the kind and `List` */
  readonly listKind?: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  /** @default all of them */
  readonly verbs?: readonly string[];
  readonly schema: (version: string) => Schema | undefined;
  readonly strategy: Strategy;
  /** By the name in the path: `status`, `scale`, `binding`. */
  readonly subresources: Readonly<Record<string, Subresource>>;
  /** Fields beyond metadata.name and metadata.namespace that field selectors may name. */
  readonly selectableFields?: Readonly<Record<string, (object: KubeObject) => string>>;
  readonly columns?: readonly Column[];
  /** Custom resources have columns and selectable fields of each version. @default those above */
  readonly ofVersion?: (version: string) => Pick<ResourceType, "columns" | "selectableFields">;
  /** The conditions of an object's row in a table: pods that have ended have one. */
  readonly rowConditions?: (object: KubeObject) => readonly RowCondition[];
  readonly convert?: (object: KubeObject, toVersion: string) => KubeObject | Promise<KubeObject>;
  /**
   * Custom resources are read by their own schema: what it does not know is left out, and told of in `strict`. `keys`: what
   * was written twice.
   */
  readonly read?: (
    value: unknown,
    version: string,
    keys?: WrittenKeys,
  ) => { value: unknown; strict: readonly string[] };
  /** What names must be like, and `generateName` with `maskTrailingDash`. @default a DNS subdomain */
  readonly nameRule?: NameRule;
  /**
   * A view of another resource's objects: events.k8s.io's Events are the core group's. They are kept, and their events
   * are seen, under that resource; strategy, selectors and columns are this view's own.
   */
  readonly storedAs?: {
    readonly group: string;
    readonly version: string;
    readonly plural: string;
    toStored(object: KubeObject): KubeObject;
    fromStored(stored: KubeObject): KubeObject;
  };
  /** Nothing of it is kept: a POST is answered by this, with 201. Reviews and Bindings. */
  readonly act?: (request: WriteContext & { readonly body: KubeObject }) => Promise<KubeObject>;
  /** Nothing of it is kept: GETs are answered from this. ComponentStatuses. */
  readonly compute?: (cluster: Cluster) => readonly KubeObject[];
}

/** What a kind adds to the generic machinery. Everything is optional, and works on an object of its own, in place. */
export interface Strategy {
  /** What code, not the schema, fills in. Runs after the schema's defaults. */
  default?(object: KubeObject): void;
  /** Drops what a creator may not set. */
  prepareCreate?(object: KubeObject, request: WriteContext): void | Promise<void>;
  prepareUpdate?(object: KubeObject, old: KubeObject, request: WriteContext): void | Promise<void>;
  /** All that is wrong with a new object, its metadata included (`object-meta.ts`): nobody else adds to it. */
  validate?(object: KubeObject): FieldError[];
  /** All that is wrong with a change, the metadata included. */
  validateUpdate?(object: KubeObject, old: KubeObject): FieldError[];
  /** What rules that may be many say beside what is wrong by then, whatever part of the object is written. */
  checkRules?(object: KubeObject, old: KubeObject | undefined, errors: readonly FieldError[]): Steps<FieldError[]>;
  warnings?(object: KubeObject, old?: KubeObject): string[];
  /** Whether status is a thing of its own: then it is kept by writes of the rest, and dropped on create. @default false */
  readonly hasStatus?: boolean;
  /**
   * Whether a change makes a new generation. Absent: the kind has no `metadata.generation`. Kinds that have one get 1 on
   * create, and one more when a deletion begins that waits.
   */
  changesGeneration?(object: KubeObject, old: KubeObject): boolean;
  /** Whether a PUT of an object that is not there makes it. @default false */
  readonly createsOnUpdate?: boolean;
  /** Whether a PUT needs no resource version. @default true */
  readonly unconditionalUpdate?: boolean;
  /**
   * Seconds until the object is really gone; undefined or 0: at once. Called for each deletion, with what was asked for.
   */
  gracePeriod?(object: KubeObject, asked: number | undefined): number | undefined;
  /** @default "Background", or "Orphan" where an old kind says so */
  readonly defaultPropagation?: "Background" | "Orphan";
  /**
   * Takes what there is only once (addresses, node ports) and fills it in. Called after validation and before admission's
   * last look and the write; `old` is absent for a create. What it returns is called where the write does not come about,
   * and after a dry run. What is stored is taken, so deletions give back by themselves. Throws a `StatusError` where
   * nothing is left.
   */
  reserve?(object: KubeObject, old: KubeObject | undefined, request: WriteContext): (() => void) | undefined;
  /** Called after the object is gone for good. */
  afterDelete?(object: KubeObject, cluster: Cluster): Promise<void>;
  /** What keeps an object that is being deleted beyond `metadata.finalizers`: a Namespace has some in its spec. */
  finalizers?(object: KubeObject): readonly string[];
  /** Who has to agree to each deletion, though nobody has said so before: a definition's resources go first. */
  readonly deletionFinalizers?: readonly string[];
  /** What a deletion changes of an object that has to wait for finalizers: a Namespace is Terminating then. */
  prepareDelete?(object: KubeObject): void;
}

export interface WriteContext {
  readonly cluster: Cluster;
  readonly caller: Caller;
  readonly namespace: string;
  readonly dryRun: boolean;
  warn(text: string): void;
}

/** A subresource is one of: another view to write the same object (`status`), or an action of its own. */
export type Subresource =
  | {
      readonly type: "view";
      /** None: only actions write by it, from inside; it is in no path and not in discovery. */
      readonly verbs: readonly string[];
      /** The kind of what is sent and answered, where it is not the object's own: Scale. */
      readonly kind?: { group: string; version: string; kind: string };
      /** Of its own kind's tables. */
      readonly columns?: readonly Column[];
      /** Only for views of another kind. */
      read?(object: KubeObject): KubeObject;
      /** Takes over into `object` (a copy of the current one) what this view may change of `sent`. */
      write(object: KubeObject, sent: KubeObject): void;
      validate?(object: KubeObject, old: KubeObject): FieldError[];
    }
  | {
      readonly type: "action";
      readonly verbs: readonly string[];
      readonly kind?: { group: string; version: string; kind: string };
      /** `body` is undefined for GET. Gives the answer's body, sent with 201 for POST. */
      act(
        request: WriteContext & { readonly name: string; readonly body: KubeObject | undefined },
      ): Promise<KubeObject>;
    }
  /** Passed through to the node's kubelet, or to the pod or service: `log`, `exec`, `attach`, `portforward`, `proxy`. */
  | { readonly type: "connect"; readonly verbs: readonly string[] };

/** A column of `kubectl get`. */
export interface Column {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "date";
  readonly format?: string;
  readonly description?: string;
  /** 0: always shown; 1: with `-o wide`. */
  readonly priority: 0 | 1;
  readonly value: (object: KubeObject, now: number) => string | number | boolean | null;
}

/** meta/v1 TableRowCondition. */
export interface RowCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}
