import type { SiteName } from "./topology.ts";

/** What a user asks of one site. Each has the whole truth about its object, so that doing it twice does no harm. */
export type UserAction =
  | { readonly do: "put"; readonly in: Place; readonly what: Workload }
  | { readonly do: "remove"; readonly in: Place; readonly what: Pick<Workload, "kind" | "name"> }
  /** Deletes a bare pod and makes another of the same name. */
  | { readonly do: "replace"; readonly in: Place; readonly what: BarePod }
  | { readonly do: "offload"; readonly in: Place; readonly pods: PodsStrategy }
  | { readonly do: "unoffload"; readonly in: Place }
  /** Deletes the namespace with everything in it, and makes it again. */
  | { readonly do: "renew"; readonly in: Place }
  | { readonly do: "resize"; readonly consumer: SiteName; readonly provider: SiteName; readonly cpu: number }
  | {
      readonly do: "stand";
      /** Whose owner speaks. */
      readonly side: "consumer" | "provider";
      readonly consumer: SiteName;
      readonly provider: SiteName;
      readonly standing: "Open" | "Cordoned" | "Drained";
    };

export interface Place {
  readonly site: SiteName;
  readonly name: string;
}

export type PodsStrategy = "Both" | "Remote" | "Local";

export interface Replicated {
  readonly kind: "Deployment" | "StatefulSet";
  readonly name: string;
  readonly replicas: number;
  /** Part of the image and of the pods' labels: a change rolls all pods. */
  readonly version: number;
  readonly config?: string;
  readonly secret?: string;
}

export interface BatchJob {
  readonly kind: "Job";
  readonly name: string;
  readonly completions: number;
}

export interface BarePod {
  readonly kind: "Pod";
  readonly name: string;
  readonly version: number;
  readonly config?: string;
}

export interface Data {
  readonly kind: "ConfigMap" | "Secret";
  readonly name: string;
  readonly version: number;
  /** Has twins even where no pod refers to it. */
  readonly always: boolean;
}

export interface Front {
  readonly kind: "Service";
  readonly name: string;
  readonly version: number;
}

export type Workload = Replicated | BatchJob | BarePod | Data | Front;

/** What happens to the machinery, for a time. */
export type Trouble =
  | { readonly is: "kill" | "pause"; readonly site: SiteName; readonly process: string; readonly ms: number }
  | {
      readonly is: "silence" | "one-way" | "reset" | "slow";
      readonly from: SiteName;
      readonly to: SiteName;
      readonly latency: number;
      readonly ms: number;
    };

export interface Step {
  readonly number: number;
  /** Milliseconds from the beginning. */
  readonly at: number;
  readonly action?: UserAction;
  readonly trouble?: Trouble;
}

export function describeStep({ number, at, action, trouble }: Step): string {
  return `step ${number} at ${(at / 1000).toFixed(1)} s: ${JSON.stringify(action ?? trouble)}`;
}
