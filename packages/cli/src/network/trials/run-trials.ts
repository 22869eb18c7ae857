import { describeError } from "@fjord/base";
import { connectScript, NO_TOOL, resolveScript } from "./trial-script.ts";
import type { Asker, Chances, Outcome, TrialRow } from "./trials.ts";

/** Runs a script of `sh` in a pod, and tells with what it ended. */
export type RunInPod = (asker: Asker, script: string) => Promise<number>;

const notTested = (detail: string): Outcome => ({ result: "NotTested", detail });
const LISTENS = "does not answer";

/** Has pods ask each other: an address of the other site, a Service, a name; and one that may not, whether it is refused. */
export async function runTrials(
  { asker, target, service, lack }: Chances,
  outsider: Asker | undefined,
  run: RunInPod,
): Promise<Pick<TrialRow["outcomes"], "pod" | "service" | "dns" | "policy">> {
  const why = notTested(lack ?? "nobody could ask");
  const pod =
    asker === undefined || target === undefined
      ? why
      : await outcome(run, asker, connectScript(target.address, target.port), `${target.address}:${target.port}`);
  const named = asker === undefined || service === undefined;
  return {
    pod,
    service: named
      ? why
      : await outcome(run, asker, connectScript(service.name, service.port), `${service.name}:${service.port}`),
    dns: named ? why : await outcome(run, asker, resolveScript(service.name), service.name, "has no address"),
    policy: await policy(pod, target, outsider, run),
  };
}

/** The same address, asked by a pod that no group has: that nothing comes back says something only where others are answered. */
async function policy(
  pod: Outcome,
  target: Chances["target"],
  outsider: Asker | undefined,
  run: RunInPod,
): Promise<Outcome> {
  if (outsider === undefined) return notTested("name a pod that may not: --outsider NAMESPACE/POD");
  if (target === undefined || pod.result !== "Passed") return notTested("not even those that may are answered");
  const address = `${target.address}:${target.port}`;
  const found = await outcome(run, outsider, connectScript(target.address, target.port), address);
  if (found.result === "NotTested") return found;
  return found.result === "Failed"
    ? { result: "Passed", detail: `${address} is out of reach for ${outsider.namespace}/${outsider.pod}` }
    : { result: "Failed", detail: `${outsider.namespace}/${outsider.pod}, which is in no group, reaches ${address}` };
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
  // 126 and 127: there is no shell.
  if ([NO_TOOL, 126, 127].includes(code))
    return notTested(`${by} has nothing to ask by (nc, bash, curl, wget, python3)`);
  return { result: "Failed", detail: `${what} ${failure} ${by}` };
}
