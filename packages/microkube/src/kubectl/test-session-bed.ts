import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sleep, systemClock } from "@fjord/base";
import { KubeClient, Namespace } from "@fjord/kube";
import type { Bed, Site } from "@fjord/testbed";
import { type KubectlVersion, kubectlProgram, startProcessNode, startTestBed } from "@fjord/testbed/testing";
import { type Chapter, stepsOf } from "./chapter.ts";
import { compareSessions, describeDifferences } from "./test-session.ts";
import { Shell } from "./test-shell.ts";

const REAL = "site-1";
const OURS = "site-2";
export const NEWEST = "1.36";

const begin = `
  kubectl create namespace $NAMESPACE
  kubectl config set-context --current --namespace=$NAMESPACE
`;

/** Kubernetes and microkube, with two simulated nodes each, for users who type the same at both. */
export class SessionBed implements AsyncDisposable {
  readonly bed: Bed;
  readonly #directory: string;

  private constructor(bed: Bed, directory: string) {
    this.bed = bed;
    this.#directory = directory;
  }

  static async start(): Promise<SessionBed> {
    const bed = await startTestBed({ sites: 2, kubernetes: [NEWEST, "microkube"], simulatedNodes: 2 });
    return new SessionBed(bed, await mkdtemp(join(tmpdir(), "fjord-session-")));
  }

  /** Goes through a chapter at both sites; throws where they did not say the same. */
  async check(chapter: Chapter, version: KubectlVersion, programs: Readonly<Record<string, string>> = {}) {
    const { about, files = {}, script } = chapter;
    const namespace = `${about.replaceAll(/\W+/g, "-")}-${version.replace(".", "")}`;
    const open = (name: string) =>
      Shell.open({
        site: this.bed.site(name),
        directory: join(this.#directory, `${namespace}-${name}`),
        programs: { kubectl: kubectlProgram(version), ...programs },
        namespace,
        files,
      });
    const steps = stepsOf(begin + script).filter(({ newest }) => version === NEWEST || !newest);
    const differences = await compareSessions(steps, await open(REAL), await open(OURS));
    assert.equal(differences.length, 0, `microkube (+) is not as Kubernetes (-):\n${describeDifferences(differences)}`);
  }

  /** Takes away what chapters have left: which nodes their pods are on is a matter of chance. */
  async removeNamespaces(): Promise<void> {
    await Promise.all(this.bed.sites.map((site) => removeNamespaces(site)));
  }

  /** Gives both sites a node that runs processes, for whoever names it. */
  async startProcessNodes(): Promise<void> {
    const taint = "runs=processes:NoSchedule";
    await Promise.all(
      this.bed.sites.map((site) => startProcessNode(site, { bed: this.bed.id, name: `${site.name}-process`, taint })),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.bed.stop();
    await rm(this.#directory, { recursive: true, force: true });
  }
}

async function removeNamespaces({ config }: Site): Promise<void> {
  await using client = new KubeClient(config);
  const ours = async () => {
    const { items } = await client.list(Namespace);
    return items.flatMap(({ metadata: { name = "" } }) => (/^(default$|kube-)/.test(name) ? [] : [name]));
  };
  for (const name of await ours()) await client.delete(Namespace, { name });
  while ((await ours()).length > 0) await sleep(systemClock, 200);
}
