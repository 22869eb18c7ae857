import type { KubeObject } from "@fjord/base";

/** An APIService: who serves a version of a group. */
export interface ApiService extends KubeObject {
  readonly spec: {
    readonly group?: string;
    readonly version?: string;
    readonly groupPriorityMinimum: number;
    readonly versionPriority: number;
    /** Absent: this server itself. */
    readonly service?: { readonly namespace: string; readonly name: string; readonly port?: number };
    readonly caBundle?: string;
    readonly insecureSkipTLSVerify?: boolean;
  };
  readonly status?: { readonly conditions?: readonly ApiServiceCondition[] };
}

export interface ApiServiceCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
}

export const GROUP = "apiregistration.k8s.io";
export const AUTOMANAGED = "kube-aggregator.kubernetes.io/automanaged";

/** The name says what is served: `v1beta1.metrics.k8s.io`. */
export const nameOf = (group: string, version: string): string => `${version}.${group}`;

export function isAvailable({ status }: ApiService): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === "Available" && is === "True") ?? false;
}
