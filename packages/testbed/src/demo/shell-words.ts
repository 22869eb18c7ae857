import { CLOUD } from "./demo-plan.ts";

/** A command of the demo's shell: a program and its arguments. */
export type Words = readonly [program: "kubectl" | "fjord" | "demo", ...words: string[]];

/** What there is to look at and to do at a site, in kubectl's words where there is one, else in the demo's own. */
export interface ShellWords {
  pods(namespace: string, site?: string): Words;
  scale(target: string, replicas: number, site?: string): Words;
}

/** Targets are `namespace/deployment`. */
export function shellWords(hasKubectl: boolean): ShellWords {
  return hasKubectl ? kubectlWords : demoWords;
}

const kubectlWords: ShellWords = {
  pods: (namespace, site) => ["kubectl", ...at(site), "-n", namespace, "get", "pods", "-o", "wide"],
  scale: (target, replicas, site) => {
    const [namespace, name] = partsOf(target);
    return ["kubectl", ...at(site), "-n", namespace, "scale", `deploy/${name}`, `--replicas=${replicas}`];
  },
};

const demoWords: ShellWords = {
  pods: (namespace, site) => ["demo", "pods", namespace, ...at(site)],
  scale: (target, replicas, site) => ["demo", "scale", target, String(replicas), ...at(site)],
};

/** The shell is the cloud's unless it is told otherwise. */
function at(site: string = CLOUD): string[] {
  return site === CLOUD ? [] : ["--context", site];
}

function partsOf(target: string): [namespace: string, name: string] {
  const [namespace = "", name = ""] = target.split("/");
  return [namespace, name];
}
