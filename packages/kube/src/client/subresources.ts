import type { KubeObject } from "@fjord/base";
import type { RequestOptions } from "./interfaces.ts";

/** How many replicas a workload has and should have, the same for every kind that can be scaled. */
export interface Scale extends KubeObject {
  spec: { replicas?: number };
  status?: { replicas: number; selector?: string };
}

export interface EvictOptions extends RequestOptions {
  gracePeriodSeconds?: number;
  preconditions?: { uid?: string; resourceVersion?: string };
  dryRun?: boolean;
}

export interface TokenOptions extends RequestOptions {
  /** Whom the token is for. Absent: the API server. */
  audiences?: string[];
  /** The server may give more or less. */
  expirationSeconds?: number;
  /** The token dies with this object. */
  boundObject?: { kind: "Pod" | "Secret" | "Node"; apiVersion: "v1"; name: string; uid?: string };
}

/** A token for a service account, and when it ends. */
export interface IssuedToken {
  token: string;
  /** RFC 3339. */
  expirationTimestamp: string;
}
