import { describeError } from "@fjord/base";
import type { Policed } from "./trial-policies.ts";
import { connectScript, NO_NAMES, NO_TOOL, NO_VARIABLE, resolveScript, variableScript } from "./trial-script.ts";
import type { Asker, Chances, Outcome, Target, TrialRow } from "./trials.ts";

/** Runs a script of `sh` in a pod, and tells with what it ended. */
export type RunInPod = (asker: Asker, script: string) => Promise<number>;

export interface TrialMeans {
  readonly run: RunInPod;
  /** A pod that may not, where one can be told to ask. */
  readonly outsider?: Asker;
  /** Why there is none. @default how to name one */
  readonly noOutsider?: string;
  /** Whether agents carry, which take connections before they know. */
  readonly held?: boolean;
}

export type Tried = Pick<TrialRow["outcomes"], "pod" | "service" | "dns" | "policy">;

export const notTested = (detail: string): Outcome => ({ result: "NotTested", detail });
const LISTENS = "does not answer";
const NOT_SERVED = "the pod that asks does not ask the cluster for names: its site serves none, or not to it";

/** Has pods of each namespace ask each other: an address of the other site, a Service, a name; and one that may not, whether it is refused. */
export async function runTrials(all: readonly Chances[], means: TrialMeans): Promise<Tried> {
  const tried = await Promise.all(all.map((chances) => tryNamespace(chances, means)));
  const merged = (column: keyof Tried) =>
    mergedOutcome(tried.map((each, index) => ({ namespace: all[index]?.namespace ?? "", outcome: each[column] })));
  return { pod: merged("pod"), service: merged("service"), dns: merged("dns"), policy: merged("policy") };
}

async function tryNamespace(
  { asker, targets = [], service, policedNames, lack }: Chances,
  means: TrialMeans,
): Promise<Tried> {
  const { run, held = false } = means;
  const why = notTested(lack ?? "nobody could ask");
  const byAddress = async () => {
    if (asker === undefined || targets.length === 0)
      return { pod: why, policy: await tryOutsider(why, targets, means) };
    const pod = await byEach(targets, async (target) => judged(await connection(asker, target, means), target.policed));
    return { pod, policy: await tryOutsider(pod, targets, means) };
  };
  const byName = async () => {
    if (asker === undefined || service === undefined) return { service: why, dns: why };
    const dns = await outcome(run, asker, resolveScript(service.name), service.name, "has no address");
    // Without names a pod has its Services by its variables.
    const script = isWithoutNames(dns) ? variableScript : connectScript;
    const at = `${service.name}:${service.port}`;
    const asked = await outcome(run, asker, script(service.name, service.port, { held }), at);
    return { dns: judged(dns, policedNames), service: judged(asked, service.policed) };
  };
  const [addresses, names] = await Promise.all([byAddress(), byName()]);
  return { ...addresses, ...names };
}

/** Where a NetworkPolicy keeps two apart, that they are says nothing of the link. */
function judged(found: Outcome, policed: Policed | undefined): Outcome {
  if (found.result !== "Failed" || policed === undefined) return found;
  const rules = policed.rules.join(", ");
  return policed.isDropped
    ? notTested(`${found.detail}, which ${rules} drops`)
    : { ...found, detail: `${found.detail}, which ${rules} may drop` };
}

/** One for all namespaces: what failed anywhere has, and what was tested nowhere was not. */
function mergedOutcome(all: readonly { readonly namespace: string; readonly outcome: Outcome }[]): Outcome {
  const of = (result: Outcome["result"]) => all.filter(({ outcome }) => outcome.result === result);
  const details = (some: typeof all) => [...new Set(some.map(({ outcome }) => outcome.detail))];
  const [failed, passed, untested] = [of("Failed"), of("Passed"), of("NotTested")];
  const result = failed.length > 0 ? "Failed" : passed.length > 0 ? "Passed" : "NotTested";
  const told = { Failed: failed, Passed: passed, NotTested: untested }[result];
  const except = untested.map(({ namespace, outcome }) => `in ${namespace}: ${outcome.detail}`);
  const reasons = details(told);
  return {
    result,
    detail: (result === "NotTested" && reasons.length > 1 ? except : reasons).join("; "),
    ...(result !== "NotTested" && except.length > 0 && { except: [...new Set(except)] }),
  };
}

/** By each family: what failed by one has, and what passed by one alone was tested by that alone. */
export async function byEach(
  targets: readonly Target[],
  tried: (target: Target) => Promise<Outcome>,
): Promise<Outcome> {
  const outcomes = await Promise.all(targets.map(tried));
  const worst = (["Failed", "NotTested", "Passed"] as const).find((each) =>
    outcomes.some(({ result }) => result === each),
  );
  const told = outcomes.filter(({ result }) => result === worst);
  return { result: worst ?? "NotTested", detail: told.map(({ detail }) => detail).join("; ") };
}

export function connection(
  asker: Asker,
  { address, port }: Target,
  { run, held = false }: Pick<TrialMeans, "run" | "held">,
) {
  return outcome(run, asker, connectScript(address, port, { held }), textOf(address, port));
}

export function textOf(address: string, port: number): string {
  return `${address.includes(":") ? `[${address}]` : address}:${port}`;
}

function isWithoutNames({ result, detail }: Outcome): boolean {
  return result === "NotTested" && detail === NOT_SERVED;
}

/** The same addresses, asked by a pod that shares nothing: that nothing comes back says something only where others are answered. */
async function tryOutsider(pod: Outcome, targets: readonly Target[], means: TrialMeans): Promise<Outcome> {
  const {
    outsider,
    noOutsider = "name a pod that may not (--outsider NAMESPACE/POD), or have some brought (--deploy)",
  } = means;
  if (outsider === undefined) return notTested(noOutsider);
  if (targets.length === 0 || pod.result !== "Passed") return notTested("not even those that may are answered");
  const who = `${outsider.namespace}/${outsider.pod}`;
  return await byEach(targets, async (target) => {
    const found = await connection(outsider, target, means);
    const address = textOf(target.address, target.port);
    if (found.result === "NotTested") return found;
    return found.result === "Failed"
      ? { result: "Passed", detail: `${address} is out of reach for ${who}` }
      : { result: "Failed", detail: `${who}, which is in no group, reaches ${address}` };
  });
}

export async function outcome(
  run: RunInPod,
  asker: Asker,
  script: string,
  what: string,
  failure = LISTENS,
): Promise<Outcome> {
  const by = `${asker.namespace}/${asker.pod}`;
  let code: number;
  try {
    code = await run(asker, script);
  } catch (error) {
    return notTested(`no command can be run in ${by}: ${describeError(error)}`);
  }
  if (code === 0) return { result: "Passed", detail: `${by} reaches ${what}` };
  if (code === NO_NAMES) return notTested(NOT_SERVED);
  if (code === NO_VARIABLE)
    return notTested(`${by} is told no names, and began before the Service: it has no variable`);
  // 126 and 127: there is no shell.
  if ([NO_TOOL, 126, 127].includes(code))
    return notTested(`${by} has nothing to ask by (nc, bash, curl, wget, python3)`);
  return { result: "Failed", detail: `${what} ${failure} ${by}` };
}
