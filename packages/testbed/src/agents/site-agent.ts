import { join } from "node:path";
import { AGENT_NAME, installObjects, manifests } from "@fjord/agent";
import { AGENT_NAMESPACE } from "@fjord/api";
import { type Clock, type Random, systemClock } from "@fjord/base";
import { KubeClient } from "@fjord/kube";
import { NotReadyError, ProcessEndedError } from "../errors.ts";
import type { ManagedProcess } from "../managed-process.ts";
import type { Endpoint } from "../network/relay.ts";
import { freePorts } from "../ports.ts";
import { testedAgent } from "../release/tested-program.ts";
import type { Site } from "../site.ts";
import { hostOf } from "../site-layout.ts";
import { waitFor } from "../wait.ts";
import { writeAccountKubeconfig } from "./account-kubeconfig.ts";

export interface SiteAgentOptions {
  /** Name of the own Site. @default the site's name in the bed */
  readonly name?: string;
  /** What the process is called in the bed, for a site with several. @default "fjord-agent" */
  readonly process?: string;
  /** Where the built files of the site's page are, to have it served too. @default no page */
  readonly page?: string;
  /** By how many milliseconds its clock is ahead of the machine's. @default 0 */
  readonly clockAhead?: number;
  /** More options of `fjord-agent run`. */
  readonly flags?: readonly string[];
  /** The agent as it is shipped: the file of a bundle. @default what the tests have built, or its source */
  readonly program?: string;
  readonly timeout?: number;
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
  readonly random?: Random;
}

/** The agent of one site of a bed. */
export interface SiteAgent {
  readonly site: Site;
  readonly name: string;
  readonly process: ManagedProcess;
  /** Where it listens for peers. Others reach it by a path of the bed that exposes this. */
  readonly peerAddress: Endpoint;
  /** Base URL of `/healthz`, `/readyz` and `/metrics`. */
  readonly metricsUrl: string;
  /** Base URL of the site's page, where it has one. */
  readonly pageUrl?: string;
}

const clockAhead = new URL("clock-ahead.ts", import.meta.url);

/** Installs Fjord into a site, and starts its agent under the rights that the installation gives it. */
export async function startSiteAgent(site: Site, options: SiteAgentOptions = {}): Promise<SiteAgent> {
  const { name = site.name, clock = systemClock, random = Math.random, signal, timeout = 120_000 } = options;
  const { address } = site.layout;
  const host = hostOf(address);
  const kubeconfig = await installAgent(site, signal ?? new AbortController().signal);
  const [peer = 0, admission = 0, metrics = 0, page = 0] = await freePorts(4, address, random);
  const pageFlags =
    options.page === undefined
      ? ["--page-listen=off"]
      : [`--page-listen=${host}:${page}`, `--page-files=${options.page}`];
  const agent = site.addProcess({
    name: options.process ?? "fjord-agent",
    file: process.execPath,
    ...(options.clockAhead && {
      env: { NODE_OPTIONS: `--import=${clockAhead}`, FJORD_TEST_CLOCK_AHEAD: String(options.clockAhead) },
    }),
    args: [
      options.program ?? testedAgent(),
      "run",
      `--kubeconfig=${kubeconfig}`,
      `--site-name=${name}`,
      `--listen=${host}:${peer}`,
      `--internal-address=${address}`,
      `--admission-port=${admission}`,
      `--metrics-listen=${host}:${metrics}`,
      ...pageFlags,
      ...(options.flags ?? []),
    ],
  });
  await agent.start();
  const metricsUrl = `http://${host}:${metrics}`;
  const started: SiteAgent = {
    site,
    name,
    process: agent,
    peerAddress: { host: address, port: peer },
    metricsUrl,
    ...(options.page !== undefined && { pageUrl: `http://${host}:${page}` }),
  };
  await agentReady(started, { timeout, clock, ...(signal && { signal }) });
  return started;
}

/** Returns when the agent answers that it is ready. */
export async function agentReady(
  { site, process: agent, metricsUrl }: SiteAgent,
  options: { timeout?: number; clock?: Clock; signal?: AbortSignal } = {},
): Promise<void> {
  const { timeout = 120_000, clock = systemClock, signal } = options;
  const what = "its agent to be ready";
  let last = "nothing";
  const ready = await waitFor(
    async () => {
      if (!agent.running) {
        const { log } = agent.record;
        throw new ProcessEndedError({ process: agent.name, site: site.name, what, log, tail: agent.logTail() });
      }
      const answer = await fetch(`${metricsUrl}/readyz`).catch((error: unknown) => {
        last = String(error);
      });
      if (answer === undefined) return false;
      last = await answer.text();
      return answer.ok;
    },
    { clock, timeout, interval: 50, ...(signal && { signal }) },
  );
  if (!ready) throw new NotReadyError({ site: site.name, what, seconds: Math.round(timeout / 1000), last });
}

/** Gives the agent's kubeconfig: a token of its own service account, so that its roles are put to the test. */
async function installAgent(site: Site, signal: AbortSignal): Promise<string> {
  await using client = new KubeClient(site.config, { closeGraceMs: 1_000 });
  await installObjects(client, manifests({ namespace: AGENT_NAMESPACE }), { signal, told: () => {} });
  const file = join(site.layout.directory, "agent.kubeconfig");
  await writeAccountKubeconfig(client, site, AGENT_NAME, file, signal);
  return file;
}
