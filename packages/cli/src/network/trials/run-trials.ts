import { describeError } from "@fjord/base";
import { connectScript, NO_NAMES, NO_TOOL, NO_VARIABLE, resolveScript, variableScript } from "./trial-script.ts";
import type { Asker, Chances, Outcome, TrialRow } from "./trials.ts";

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

type Tried = Pick<TrialRow["outcomes"], "pod" | "service" | "dns" | "policy">;

const notTested = (detail: string): Outcome => ({ result: "NotTested", detail });
const LISTENS = "does not answer";
const NOT_SERVED = "the pod does not ask the cluster for names: this site serves none, or not to it";

/** Has pods of each namespace ask each other: an address of the other site, a Service, a name; and one that may not, whether it is refused. */
export async function runTrials(all: readonly Chances[], means: TrialMeans): Promise<Tried> {
  const tried = await Promise.all(all.map((chances) => tryNamespace(chances, means)));
  const merged = (column: keyof Tried) =>
    mergedOutcome(tried.map((each, index) => ({ namespace: all[index]?.asker?.namespace, outcome: each[column] })));
  return { pod: merged("pod"), service: merged("service"), dns: merged("dns"), policy: merged("policy") };
}

async function tryNamespace({ asker, target, service, lack }: Chances, means: TrialMeans): Promise<Tried> {
  const { run, held = false } = means;
  const why = notTested(lack ?? "nobody could ask");
  const byAddress = async () => {
    if (asker === undefined || target === undefined) return { pod: why, policy: await tryOutsider(why, target, means) };
    const script = connectScript(target.address, target.port, { held });
    const pod = await outcome(run, asker, script, `${target.address}:${target.port}`);
    return { pod, policy: await tryOutsider(pod, target, means) };
  };
  const byName = async () => {
    if (asker === undefined || service === undefined) return { service: why, dns: why };
    const dns = await outcome(run, asker, resolveScript(service.name), service.name, "has no address");
    // Without names a pod has its Services by its variables.
    const script = isWithoutNames(dns) ? variableScript : connectScript;
    const at = `${service.name}:${service.port}`;
    return { dns, service: await outcome(run, asker, script(service.name, service.port, { held }), at) };
  };
  const [addresses, names] = await Promise.all([byAddress(), byName()]);
  return { ...addresses, ...names };
}

/** One for all namespaces: what failed anywhere has, and what was tested nowhere was not. */
function mergedOutcome(all: readonly { readonly namespace: string | undefined; readonly outcome: Outcome }[]): Outcome {
  const of = (result: Outcome["result"]) => all.filter(({ outcome }) => outcome.result === result);
  const details = (some: typeof all) => [...new Set(some.map(({ outcome }) => outcome.detail))];
  const [failed, passed, untested] = [of("Failed"), of("Passed"), of("NotTested")];
  const result = failed.length > 0 ? "Failed" : passed.length > 0 ? "Passed" : "NotTested";
  const told = { Failed: failed, Passed: passed, NotTested: untested }[result];
  const except = untested.map(({ namespace, outcome }) => `in ${namespace ?? "others"}: ${outcome.detail}`);
  return {
    result,
    detail: details(told).join("; "),
    ...(result !== "NotTested" && except.length > 0 && { except: [...new Set(except)] }),
  };
}

function isWithoutNames({ result, detail }: Outcome): boolean {
  return result === "NotTested" && detail.endsWith(NOT_SERVED);
}

/** The same address, asked by a pod that shares nothing: that nothing comes back says something only where others are answered. */
async function tryOutsider(
  pod: Outcome,
  target: Chances["target"],
  { run, outsider, held = false, noOutsider = "name a pod that may not: --outsider NAMESPACE/POD" }: TrialMeans,
): Promise<Outcome> {
  if (outsider === undefined) return notTested(noOutsider);
  if (target === undefined || pod.result !== "Passed") return notTested("not even those that may are answered");
  const address = `${target.address}:${target.port}`;
  const found = await outcome(run, outsider, connectScript(target.address, target.port, { held }), address);
  if (found.result === "NotTested") return found;
  const who = `${outsider.namespace}/${outsider.pod}`;
  return found.result === "Failed"
    ? { result: "Passed", detail: `${address} is out of reach for ${who}` }
    : { result: "Failed", detail: `${who}, which is in no group, reaches ${address}` };
}

async function outcome(run: RunInPod, asker: Asker, script: string, what: string, failure = LISTENS): Promise<Outcome> {
  const by = `${asker.namespace}/${asker.pod}`;
  let code: number;
  try {
    code = await run(asker, script);
  } catch (error) {
    return notTested(`no command can be run in ${by}: ${describeError(error)}`);
  }
  if (code === 0) return { result: "Passed", detail: `${by} reaches ${what}` };
  if (code === NO_NAMES) return notTested(`${by}: ${NOT_SERVED}`);
  if (code === NO_VARIABLE)
    return notTested(`${by} is told no names, and began before the Service: it has no variable`);
  // 126 and 127: there is no shell.
  if ([NO_TOOL, 126, 127].includes(code))
    return notTested(`${by} has nothing to ask by (nc, bash, curl, wget, python3)`);
  return { result: "Failed", detail: `${what} ${failure} ${by}` };
}
