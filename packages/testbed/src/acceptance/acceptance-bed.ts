import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { systemClock } from "@fjord/base";
import { Continuum, type SiteAgentOptions } from "../agents/index.ts";
import { DEFAULT_MINOR } from "../binaries/versions.ts";
import { type KubectlVersion, kubectlProgram } from "../kubectl-program.ts";
import { startTestBed } from "../testing.ts";
import { waitFor } from "../wait.ts";

type Options = Parameters<typeof startTestBed>[0];

/** Sites with agents, driven as their owners would: by kubectl and fjord. */
export class AcceptanceBed extends Continuum {
  static async start(
    options: Options,
    agents: (bed: AcceptanceBed) => Omit<SiteAgentOptions, "name"> = () => ({}),
    ofSite: (site: string) => Partial<SiteAgentOptions> = () => ({}),
  ): Promise<AcceptanceBed> {
    const bed = new AcceptanceBed(await startTestBed(options));
    try {
      await bed.startAgents(agents(bed), ofSite);
      await Promise.all(bed.bed.sites.map(({ name }) => bed.share(name)));
      return bed;
    } catch (error) {
      await bed[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** What kubectl of the newest minor prints; throws where it fails. */
  kubectl(site: string, ...args: readonly string[]): Promise<string> {
    return this.kubectlOf(DEFAULT_MINOR, site, args);
  }

  kubectlOf(version: KubectlVersion, site: string, args: readonly string[], input?: string): Promise<string> {
    const { kubeconfig } = this.site(site);
    const file = kubectlProgram(version);
    return new Promise((resolve, reject) => {
      const child = execFile(file, [`--kubeconfig=${kubeconfig}`, ...args], (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(`kubectl ${args.join(" ")} at ${site}: ${stderr.trim()}`, { cause: error }));
      });
      child.stdin?.end(input);
    });
  }

  apply(site: string, ...objects: readonly object[]): Promise<string> {
    const list = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
    return this.kubectlOf(DEFAULT_MINOR, site, ["apply", "--filename=-"], list);
  }

  async get<T>(site: string, ...args: readonly string[]): Promise<T> {
    return JSON.parse(await this.kubectl(site, "get", "--output=json", ...args)) as T;
  }

  /** Where the pods of a namespace are, by name. */
  async placement(site: string, namespace: string): Promise<Record<string, string>> {
    const { items } = await this.get<{ items: PodShape[] }>(site, "pods", `--namespace=${namespace}`);
    return Object.fromEntries(items.map(({ metadata, spec }) => [metadata.name, spec.nodeName ?? ""]));
  }

  rolledOut(site: string, namespace: string, workload: string): Promise<string> {
    return this.kubectl(site, `--namespace=${namespace}`, "rollout", "status", workload, "--timeout=150s");
  }

  /** The name of the twin of a namespace at its provider. */
  async twin(consumer: string, namespace: string): Promise<string> {
    const path = "--output=jsonpath={.status.sites[0].twin}";
    return this.kubectl(consumer, "get", "offloading", "offloading", `--namespace=${namespace}`, path);
  }

  /** Names of everything that Fjord may have made at a site, to be compared with what was there before. */
  async inventory(site: string): Promise<string[]> {
    const kinds = [
      "namespaces",
      "nodes",
      "peerings",
      "contracts",
      "virtualnodes",
      "offloadings",
      "twinnamespaces",
      "shadowpods",
      "pods",
      "roles",
      "rolebindings",
      "clusterroles",
      "clusterrolebindings",
      "serviceaccounts",
      "leases",
      "resourcequotas",
    ];
    const lines = await this.kubectl(site, "get", kinds.join(","), "--all-namespaces", "--output=name");
    return lines.split("\n").filter((line) => line !== "" && !/apiserver-/.test(line));
  }
}

export interface PodShape {
  readonly metadata: { readonly name: string; readonly uid: string; readonly deletionTimestamp?: string };
  readonly spec: { readonly nodeName?: string };
  readonly status: {
    readonly phase: string;
    readonly reason?: string;
    readonly message?: string;
    readonly conditions?: readonly ConditionShape[];
  };
}

export interface ConditionShape {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

/** Waits until `look` gives something true; says what was awaited when it does not come. */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | undefined | false>,
  timeout = 90_000,
): Promise<T> {
  let last: unknown;
  const found = await waitFor(
    async () => {
      try {
        last = await look();
        return last as T | undefined | false;
      } catch (error) {
        last = error;
        return undefined;
      }
    },
    { clock: systemClock, timeout, interval: 100 },
  );
  assert.ok(found !== undefined, `${what}; last: ${last instanceof Error ? last.message : JSON.stringify(last)}`);
  return found;
}
