import type { KubeObject } from "@fjord/base";
import type { Caller, Cluster } from "../cluster.ts";
import type { WriteContext } from "./resource-type.ts";
import type { EndpointRules } from "./values/ip-address.ts";

/** Answers a review or a token request that was sent: the same object with its status. */
export type Answerer = (request: WriteContext & { readonly body: KubeObject }) => Promise<KubeObject>;

/** What kinds need of other parts of the control plane. Each may be missing: then its kind answers 501. */
export interface KindMeans {
  /** Where Services get their addresses from. One range, or one of each family; the first is preferred. */
  readonly serviceRanges?: readonly string[];
  /** Where Services get their node ports from, both ends included. @default 30000 to 32767 */
  readonly nodePorts?: { readonly first: number; readonly last: number };
  /** Signs a token for a service account: the TokenRequest with its status. */
  readonly issueToken?: (
    account: KubeObject,
    request: KubeObject,
    context: { readonly cluster: Cluster; readonly caller: Caller },
  ) => Promise<KubeObject>;
  readonly tokenReview?: Answerer;
  readonly subjectAccessReview?: Answerer;
  readonly localSubjectAccessReview?: Answerer;
  readonly selfSubjectAccessReview?: Answerer;
  readonly selfSubjectRulesReview?: Answerer;
}

export type CompleteMeans = KindMeans & Required<Pick<KindMeans, "serviceRanges" | "nodePorts">>;

export function withDefaults(means: KindMeans): CompleteMeans {
  return { serviceRanges: ["10.96.0.0/12"], nodePorts: { first: 30000, last: 32767 }, ...means };
}

/** Where Services are on loopback, so are the pods behind them: nothing else is there without privileges. */
export function endpointRules({ serviceRanges }: CompleteMeans): EndpointRules {
  return { onLoopback: serviceRanges.some((range) => range.startsWith("127.")) };
}
