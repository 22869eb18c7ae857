import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Contract, Peering } from "@fjord/api";
import { type Clock, describeError, type Random, sleep } from "@fjord/base";
import { type KubeClient, Namespace } from "@fjord/kube";
import { agentReady, Continuum, fjord, fjordResult } from "../agents/index.ts";
import type { Bed } from "../bed.ts";
import { buildRelease } from "../release/index.ts";
import { waitFor } from "../wait.ts";
import { requestsIn, writeStorms, writesOutside } from "./audit.ts";
import { differences, eventStorms, leftovers } from "./convergence.ts";
import { clocksOf, makePlan, type Plan } from "./plan.ts";
import { type Snapshot, takeSnapshot } from "./snapshot.ts";
import { describeSuccession, reasonOfSuccession } from "./succession.ts";
import { BONDS, NAMESPACES, SHARED_CPU, SHARED_PODS, SITES } from "./topology.ts";
import { agentMemory, Troubles } from "./troubles.ts";
import { Users, unlessNotFound } from "./users.ts";
import { Watchman } from "./watchman.ts";
import { whileChanging } from "./while-changing.ts";
import { describeStep } from "./wishes.ts";

export interface ChaosOptions {
  readonly seed: number;
  /** Milliseconds that the steps go on. */
  readonly ms: number;
  /** Starts the sites. */
  readonly startBed: () => Promise<Bed>;
  /** Milliseconds that everything has to become right again after the last trouble. @default 120 000 */
  readonly healMs?: number;
  /** Gives the agents clocks that are minutes apart, as the seed says. @default false */
  readonly clocksApart?: boolean;
  /** Folder for what is left of a run that failed: logs, steps, objects. */
  readonly keep?: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
}

export interface ChaosReport {
  readonly findings: readonly string[];
  readonly figures: Readonly<Record<string, unknown>>;
}

const root = fileURLToPath(new URL("../../../..", import.meta.url));

/** What Fjord may tell of one object, however much befalls it. */
const MOST_TOLD = { times: 100, events: 20 };

/** One run: sites, peerings, steps, healing, comparison with the model, unpeering, search for leftovers. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const programs = join(root, ".fjord", `chaos-${process.pid}`);
  try {
    await buildRelease(root, programs, ["fjord-agent"]);
    const program = join(programs, "fjord-agent.mjs");
    await using continuum = new Continuum(await options.startBed());
    const clocks = options.clocksApart === true ? clocksOf(options.seed) : undefined;
    if (clocks !== undefined) options.say(`clocks are ahead by ${JSON.stringify(clocks)} ms`);
    await continuum.startAgents({ program, signal: options.signal, timeout: 120_000 }, (site) => ({
      clockAhead: clocks?.[site] ?? 0,
    }));
    const clients = new Map(SITES.map((site) => [site as string, continuum.client(site)]));
    const run = new ChaosRun(options, continuum, clients);
    try {
      return await run.run();
    } finally {
      await Promise.all(clients.values().map((client: KubeClient) => client.close()));
    }
  } finally {
    await rm(programs, { recursive: true, force: true });
  }
}

class ChaosRun {
  readonly #options: ChaosOptions;
  readonly #continuum: Continuum;
  readonly #clients: ReadonlyMap<string, KubeClient>;
  readonly #findings = new Set<string>();
  readonly #figures: Record<string, unknown> = {};
  readonly #plan: Plan;
  readonly #story: string[] = [];
  readonly #troubles: Troubles;
  #began: number;

  constructor(options: ChaosOptions, continuum: Continuum, clients: ReadonlyMap<string, KubeClient>) {
    this.#options = options;
    this.#continuum = continuum;
    this.#clients = clients;
    this.#plan = makePlan({ seed: options.seed, ms: options.ms });
    this.#troubles = new Troubles(continuum, options.clock);
    this.#began = options.clock.now();
  }

  async run(): Promise<ChaosReport> {
    const { clock, random, signal } = this.#options;
    const ended = new AbortController();
    const stop = AbortSignal.any([signal, ended.signal]);
    const watchman = new Watchman({ clients: this.#clients, clock, random, alarm: (text) => this.#found(text) });
    const watching = watchman.run(stop);
    try {
      await watchman.waitForSync(signal);
      await this.#peer();
      this.#figures.memoryBefore = agentMemory(this.#continuum);
      await this.#disturb(stop);
      await this.#converge(watchman);
      this.#figures.memoryAfter = agentMemory(this.#continuum);
      this.#compareMemory();
      await this.#unpeer();
      await this.#readAudit(watchman);
    } catch (error) {
      if (signal.aborted) throw error;
      this.#found(`the run could not go on: ${describeError(error)}\n${(error as Error).stack}`);
    } finally {
      ended.abort();
      await watching;
    }
    if (this.#findings.size > 0) await this.#keep();
    return { findings: [...this.#findings], figures: this.#figures };
  }

  async #peer(): Promise<void> {
    // Short contracts: they are renewed all the time, in the midst of trouble.
    const contractLifetime = "90s";
    const sharing = { resources: { cpu: SHARED_CPU, memory: "400Gi", pods: SHARED_PODS }, contractLifetime };
    for (const site of SITES) await this.#continuum.share(site, sharing);
    for (const { consumer, provider } of BONDS)
      await this.#continuum.peer(
        consumer,
        provider,
        "--cpu=20",
        `--pods=${SHARED_PODS}`,
        "--memory=100Gi",
        "--timeout=120s",
      );
    for (const { site, name } of NAMESPACES) {
      const object = { apiVersion: "v1", kind: "Namespace", metadata: { name } } as const;
      await (this.#clients.get(site) as KubeClient).create(Namespace, object);
    }
    this.#tell("three sites, three peerings");
  }

  async #disturb(stop: AbortSignal): Promise<void> {
    const { clock, signal, healMs = 120_000 } = this.#options;
    const giveUp = new AbortController();
    const users = new Users({ clients: this.#clients, clock, signal: AbortSignal.any([stop, giveUp.signal]) });
    const troubles = this.#troubles;
    this.#began = clock.now();
    for (const step of this.#plan.steps) {
      const wait = this.#began + step.at - clock.now();
      if (wait > 0) await sleep(clock, wait, signal);
      signal.throwIfAborted();
      this.#note(describeStep(step));
      users.wish(step);
      if (step.trouble !== undefined) troubles.begin(step.trouble);
      for (const told of await troubles.revive()) this.#ended(told);
    }
    await troubles.heal();
    this.#tell(`${this.#plan.steps.length} steps are done, everything is healed`);
    for (const site of SITES) await this.#continuum.site(site).ready({ timeout: 120_000, signal });
    // After failures they wait for up to a minute before they ask the API again (client-go's reflectors), each in turn:
    // that is Kubernetes' time to heal, and not what is looked at.
    for (const name of SITES) {
      const site = this.#continuum.site(name);
      const waiting = ["kube-controller-manager", "kube-scheduler"].map((each) => site.process(each));
      for (const process of new Set(waiting)) await process.restart();
      await site.ready({ timeout: 120_000, signal });
    }
    for (const told of await troubles.revive()) this.#ended(told);
    for (const site of SITES) await agentReady(this.#continuum.agent(site), { timeout: 120_000, signal });
    await this.#reopen();
    // On a machine that does other work as well users are behind: what counts is that they get on.
    await whileChanging(() => [...users.trying].map(([step]) => describeStep(step)), {
      clock,
      signal,
      timeout: healMs,
    });
    for (const [step, state] of users.trying) this.#found(`${describeStep(step)} cannot be done: ${state}`);
    giveUp.abort();
    await users.settled();
    // A cordon that came late would keep pods away for good.
    await this.#reopen();
  }

  /** Takes back what the owners said about their contracts: the model knows pods, not waits. */
  async #reopen(): Promise<void> {
    for (const client of this.#clients.values()) {
      // One that is over still says that its consumer is given no other.
      for (const { spec, metadata } of (await client.list(Contract)).items) {
        if (spec.standing === "Ended" || spec.standing === "Open") continue;
        await client.patch(Contract, { name: metadata.name as string }, "merge", { spec: { standing: "Open" } });
      }
    }
    for (const { consumer, provider } of BONDS) {
      const patch = { spec: { resources: { cpu: 20, pods: SHARED_PODS } } };
      await (this.#clients.get(consumer) as KubeClient).patch(Peering, { name: provider }, "merge", patch);
    }
  }

  async #converge(watchman: Watchman): Promise<void> {
    const { clock, signal, healMs = 120_000 } = this.#options;
    const from = clock.now();
    let rest: string[] = [];
    let snapshot: Snapshot = new Map();
    const done = await whileChanging(
      async () => {
        // A controller manager ends by itself where it starts before its API server has read who may do what.
        for (const told of await this.#troubles.revive()) this.#ended(told);
        snapshot = await takeSnapshot(this.#clients);
        rest = differences(this.#plan.model, snapshot);
        return rest;
      },
      { clock, signal, timeout: healMs, interval: 1_000 },
    );
    this.#figures.convergedMs = clock.now() - from;
    if (!done) for (const text of rest) this.#found(`not converged: ${text}`);
    else this.#tell("reality equals the model");
    const { worst, storms } = eventStorms(snapshot, MOST_TOLD);
    this.#figures.mostTold = worst;
    for (const storm of storms) this.#found(`event storm: ${storm}`);
    const again: Record<string, number> = {};
    this.#figures.guestsMadeAgain = again;
    for (const { site, pods, jobs } of snapshot.values()) {
      for (const { metadata } of pods) {
        const guests = watchman.guestsOf(metadata.uid as string);
        for (const [i, next] of guests.entries()) {
          const first = guests[i - 1];
          if (first === undefined) continue;
          const reason = reasonOfSuccession(first, next, watchman.predecessors);
          if (reason !== undefined) again[reason] = (again[reason] ?? 0) + 1;
          const name = `${metadata.namespace}/${metadata.name} (${metadata.uid})`;
          if (reason === undefined)
            this.#found(`${site} pod ${name} had ${guests.length} guests: ${describeSuccession(guests)}`);
        }
      }
      this.#figures[`${site} pods`] = pods.length;
      this.#figures[`${site} failed job pods`] = jobs.reduce((sum, { status }) => sum + (status?.failed ?? 0), 0);
    }
    if (!done) await this.#keepObjects(snapshot);
  }

  async #unpeer(): Promise<void> {
    const { clock, signal, healMs = 120_000, seed } = this.#options;
    const unoffload = async () => {
      for (const { site, name } of NAMESPACES)
        await fjordResult(this.#continuum.site(site), "unoffload", name, "--no-wait");
    };
    const offloadingFirst = seed % 2 === 0;
    const troubles = new Troubles(this.#continuum, clock);
    const killing = this.#farewell(troubles);
    if (offloadingFirst) await unoffload();
    for (const { consumer, provider } of BONDS) {
      await fjord(this.#continuum.site(consumer), "unpeer", provider, "--timeout=120s").catch((error: unknown) =>
        this.#found(`unpeer of ${provider} at ${consumer}: ${describeError(error)}`),
      );
    }
    if (!offloadingFirst) await unoffload();
    await killing;
    await troubles.heal();
    let rest: string[] = [];
    let snapshot: Snapshot = new Map();
    const done = await waitFor(
      async () => {
        snapshot = await takeSnapshot(this.#clients);
        rest = leftovers(snapshot);
        return rest.length === 0;
      },
      { clock, signal, timeout: healMs, interval: 1_000 },
    );
    if (!done) for (const text of rest) this.#found(`after unpeer: ${text}`);
    else this.#tell("nothing is left after unpeering");
    if (!done) await this.#keepObjects(snapshot);
    for (const { site, name } of NAMESPACES) {
      // The admission of the agent must not stand in the way of what is no longer offloaded.
      const client = this.#clients.get(site) as KubeClient;
      await client.delete(Namespace, { name }).catch(unlessNotFound);
    }
  }

  async #farewell(troubles: Troubles): Promise<void> {
    const { clock, signal } = this.#options;
    const from = clock.now();
    for (const step of this.#plan.farewell) {
      await sleep(clock, Math.max(0, from + step.at - clock.now()), signal);
      this.#note(`while unpeering, ${describeStep(step)}`);
      if (step.trouble !== undefined) troubles.begin(step.trouble);
    }
  }

  async #readAudit(watchman: Watchman): Promise<void> {
    let requests = 0;
    for (const site of SITES) {
      const log = await readFile(this.#continuum.agent(site).process.record.log, "utf8");
      requests += requestsIn(log);
      for (const text of writesOutside(log, watchman.twins.get(site) ?? new Set())) this.#found(`${site}: ${text}`);
      const most = 40 + this.#options.ms / 6_000;
      for (const text of writeStorms(log, most)) this.#found(`write storm at ${site}: ${text}`);
    }
    this.#figures.requestsOfTenants = requests;
    if (requests === 0) this.#found("the agents' logs tell of no request of a tenant: the audit was not checked");
  }

  #compareMemory(): void {
    const before = this.#figures.memoryBefore as Record<string, number>;
    for (const [site, after] of Object.entries(this.#figures.memoryAfter as Record<string, number>)) {
      const most = 1.5 * (before[site] ?? 0) + 64;
      if (after > most)
        this.#found(`the agent of ${site} has ${after} MB, and had ${before[site]} MB at the beginning`);
    }
  }

  #ended(told: string): void {
    if (told.includes("/fjord-agent")) this.#found(told);
    else this.#tell(told);
  }

  #found(text: string): void {
    if (this.#findings.has(text)) return;
    this.#findings.add(text);
    this.#tell(`FOUND ${text}`);
  }

  #tell(text: string): void {
    this.#options.say(`${this.#since()} ${text}`);
    this.#note(text);
  }

  #note(text: string): void {
    this.#story.push(`${new Date(this.#options.clock.now()).toISOString()} ${this.#since()} ${text}`);
  }

  #since(): string {
    return `[${((this.#options.clock.now() - this.#began) / 1000).toFixed(1)} s]`;
  }

  async #keep(): Promise<void> {
    const { keep } = this.#options;
    if (keep === undefined) return;
    await mkdir(keep, { recursive: true });
    await writeFile(join(keep, "story.txt"), `${this.#story.join("\n")}\n`);
    for (const site of this.#continuum.bed.sites)
      await cp(join(site.layout.directory, "logs"), join(keep, site.name), { recursive: true });
  }

  async #keepObjects(snapshot: Snapshot): Promise<void> {
    const { keep } = this.#options;
    if (keep === undefined) return;
    await mkdir(keep, { recursive: true });
    const name = `objects-${Math.round((this.#options.clock.now() - this.#began) / 1000)}.json`;
    await writeFile(join(keep, name), JSON.stringify(Object.fromEntries(snapshot), undefined, 1));
  }
}
