import type { KubeObject } from "@fjord/base";
import type { Caller, Cluster } from "../cluster.ts";
import type { ResourceType } from "../kinds/resource-type.ts";

export interface AdmissionRequest {
  readonly cluster: Cluster;
  readonly caller: Caller;
  readonly operation: "CREATE" | "UPDATE" | "DELETE" | "CONNECT";
  readonly type: ResourceType;
  /** The version of the request, which need not be the stored one. */
  readonly version: string;
  readonly subresource: string;
  readonly namespace: string;
  /** Empty while a name is yet to be generated. */
  readonly name: string;
  /** Absent for DELETE. Plugins that mutate change it in place. */
  readonly object: KubeObject | undefined;
  /** Absent for CREATE. */
  readonly old: KubeObject | undefined;
  /** CreateOptions, UpdateOptions, DeleteOptions as sent. */
  readonly options: Record<string, unknown>;
  readonly dryRun: boolean;
  warn(text: string): void;
}

/** One admission plugin. A refusal is a thrown `StatusError`, in Kubernetes' words. */
export interface AdmissionPlugin {
  readonly name: string;
  /** First all that mutate, in order, then all that validate. */
  mutate?(request: AdmissionRequest): void | Promise<void>;
  validate?(request: AdmissionRequest): void | Promise<void>;
  /** After the write, or its failure: gives back what `validate` has reserved (quota). */
  settle?(request: AdmissionRequest, succeeded: boolean): void;
}
