import { BULK, CLOSED_PORT } from "../own-pods/server-script.ts";
import {
  byEach,
  connection,
  notTested,
  outcome,
  type RunInPod,
  runTrials,
  type TrialMeans,
  type Tried,
  textOf,
} from "./run-trials.ts";
import { fetchScript } from "./trial-script.ts";
import type { Asker, Chances, Outcome, Target, TrialRow } from "./trials.ts";

/** What pods of the test's own can be asked beside. */
export interface OwnTrialMeans extends TrialMeans {
  /** The site that is asked. */
  readonly to: string;
  /** Somebody at that site, and what the asked pod is called there. */
  readonly neighbour?: { readonly asker: Asker; readonly address: string };
}

export interface OwnTried extends Tried {
  /** Whether packets of full size come. */
  readonly bulk: Outcome;
}

/** What others are asked, and what only pods can be asked of which it is known how they listen. */
export async function runOwnTrials(chances: Chances, means: OwnTrialMeans): Promise<OwnTried> {
  const tried = await runTrials([chances], means);
  const { asker, targets = [] } = chances;
  if (asker === undefined || tried.pod.result !== "Passed") return { ...tried, bulk: notTested(tried.pod.detail) };
  const [bulk, closed] = await Promise.all([
    byEach(targets, (target) => fetched(means.run, asker, target)),
    tryClosed(asker, targets, means),
  ]);
  return { ...tried, bulk, policy: withPolicies(tried.policy, closed) };
}

function fetched(run: RunInPod, asker: Asker, { address, port }: Target): Promise<Outcome> {
  const what = `a file of ${BULK.bytes / 1024} KiB at ${textOf(address, port)}`;
  return outcome(run, asker, fetchScript(address, port, BULK), what, "does not come to");
}

/** Whether a NetworkPolicy keeps a pod of the same namespace out of a port. Where it does not, pods of that site tell whether it does anybody. */
async function tryClosed(asker: Asker, targets: readonly Target[], means: OwnTrialMeans): Promise<Outcome> {
  const closed = targets.map(({ address }) => ({ address, port: CLOSED_PORT }));
  const found = await byEach(closed, async (target) => inverted(await connection(asker, target, means)));
  if (found.result !== "Failed" || means.neighbour === undefined) return found;
  const { asker: neighbour, address } = means.neighbour;
  const near = await connection(neighbour, { address, port: CLOSED_PORT }, means);
  return near.result === "Failed"
    ? found
    : notTested(`NetworkPolicies: the pods' network of ${means.to} does not seem to enforce them`);
}

function inverted({ result, detail }: Outcome): Outcome {
  if (result === "NotTested") return { result, detail };
  return result === "Failed"
    ? { result: "Passed", detail: "a NetworkPolicy is kept to" }
    : { result: "Failed", detail: `${detail}, which a NetworkPolicy closes` };
}

/** Both have to hold; what could not be tried of NetworkPolicies does not take away what the link itself has shown. */
function withPolicies(outsider: Outcome, closed: Outcome): Outcome {
  if (outsider.result === "Failed") return outsider;
  if (closed.result === "Failed") return closed;
  if (closed.result === "Passed") return { ...outsider, detail: `${outsider.detail}; ${closed.detail}` };
  return outsider.result === "NotTested" ? outsider : { ...outsider, except: [closed.detail] };
}

type Seen = Pick<TrialRow["outcomes"], "link" | "latency" | "mtu">;

/** What gateways have seen, and where nobody could ask them, what pods have. */
export function withSeenByPods(seen: Seen, { pod, bulk }: OwnTried): Seen {
  const link: Outcome =
    seen.link.result === "NotTested" && pod.result === "Passed"
      ? { result: "Passed", detail: "pods are answered" }
      : seen.link;
  if (bulk.result === "Failed") return { ...seen, link, mtu: { result: "Failed", detail: bulk.detail } };
  const isSeen = seen.mtu.result === "NotTested" && bulk.result === "Passed";
  return { ...seen, link, mtu: isSeen ? { result: "Passed", detail: "ok" } : seen.mtu };
}
