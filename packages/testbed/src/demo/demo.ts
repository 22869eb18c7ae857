import { rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Site } from "@fjord/api";
import { type Clock, describeError, silentLogger } from "@fjord/base";
import { runFjord } from "@fjord/cli/in-process";
import { ensurePage } from "@fjord/dashboard";
import { Deployment, KubeClient, Namespace, Pod, Service } from "@fjord/kube";
import { identify, isAlive } from "../process-identity.ts";
import { ensureFjord, type FjordProgram } from "../release/fjord-program.ts";
import { waitFor } from "../wait.ts";
import { application, FRONT_PORT, NAMESPACE } from "./application.ts";
import { ControlServer } from "./control-server.ts";
import { ASKED, BUSY, CLOUD, EDGES, SHARED } from "./demo-plan.ts";
import { type DemoRecord, readRecord, writeRecord } from "./demo-record.ts";
import { DemoShell } from "./demo-shell.ts";
import { DemoNotReady, DemoRunning } from "./errors.ts";
import { COMPILED, KEPT } from "./kept.ts";
import { openSubstrate } from "./open-substrate.ts";
import { type Spread, spreadOf, total } from "./pod-spread.ts";
import { CALM_REPLICAS, RUSH, RUSH_APP, rush } from "./rush.ts";
import { type ShellWords, shellWords, type Words } from "./shell-words.ts";
import { askShop, type ShopAnswer } from "./shop-answer.ts";
import type { Steps } from "./steps.ts";
import type { DemoSite, Substrate, SubstrateName } from "./substrate.ts";

export interface DemoOptions {
  readonly directory: string;
  /** What the sites are made of. */
  readonly substrate: SubstrateName;
  readonly env: NodeJS.ProcessEnv;
  readonly steps: Steps;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export const REPLICAS = 6;
const PATIENCE_MS = 120_000;
const fjordSource = fileURLToPath(new URL("../../../cli/src/cli.ts", import.meta.url));
const commandSource = fileURLToPath(new URL("demo-command.ts", import.meta.url));

/** Five sites, peered both ways, with an application over them. */
export class Demo implements AsyncDisposable {
  readonly shell: DemoShell;
  readonly #options: DemoOptions;
  readonly #control: ControlServer;
  readonly #substrate: Substrate;
  readonly #clients = new Map<string, KubeClient>();
  #fjordProgram = fjordSource;

  private constructor(options: DemoOptions, control: ControlServer, substrate: Substrate) {
    const { directory, signal } = options;
    this.#options = options;
    this.#control = control;
    this.#substrate = substrate;
    this.shell = new DemoShell({
      directory,
      contexts: Object.fromEntries(this.sites.map((site) => [site.name, () => site.config()])),
      commands: () => ({ fjord: [this.#fjordProgram], demo: [commandSource, directory] }),
      env: options.env,
      kubectl: () => substrate.kubectl,
      signal,
    });
    control.reach = (name, cut) => this.#reach(name, cut);
  }

  static async start(options: DemoOptions): Promise<Demo> {
    const control = await makeRoom(options);
    const substrate = await openSubstrate(options.substrate, { ...options, berth: control.berth });
    const demo = new Demo(options, control, substrate);
    try {
      await demo.#start();
      return demo;
    } catch (error) {
      if (!options.signal.aborted) demo.#lastWords();
      await demo[Symbol.asyncDispose]();
      throw error;
    }
  }

  get sites(): readonly DemoSite[] {
    return this.#substrate.sites;
  }

  /** Whether the shell has a kubectl. */
  get hasKubectl(): boolean {
    return this.#substrate.kubectl !== undefined;
  }

  /** How to look and act in the shell, as the reader would. */
  get words(): ShellWords {
    return shellWords(this.hasKubectl);
  }

  /** Runs a command in the shell, and shows it with what it printed. */
  async show([program, ...words]: Words): Promise<void> {
    const printed = program === "fjord" ? await this.fjord(words) : await this.shell.run(program, words);
    this.#options.steps.shown([program, ...words].join(" "), printed);
  }

  /** Runs the command `fjord`, without a process of its own each time. */
  async fjord(words: readonly string[]): Promise<string> {
    const { clock, signal, env } = this.#options;
    const means = { clock, signal, random: Math.random, logger: silentLogger, home: homedir() };
    return await runFjord(words, { ...means, env: { ...env, KUBECONFIG: this.shell.kubeconfig } });
  }

  site(name: string): DemoSite {
    return this.sites.find((site) => site.name === name) as DemoSite;
  }

  /** With the rights of the site's administrator. */
  async client(name: string): Promise<KubeClient> {
    const known = this.#clients.get(name);
    if (known !== undefined) return known;
    const client = new KubeClient(await this.site(name).config(), { closeGraceMs: 500 });
    this.#clients.set(name, client);
    return client;
  }

  /** Where the front end answers. */
  get url(): string {
    return `http://${this.#substrate.nodeAddress}:${FRONT_PORT}/`;
  }

  /** Resident bytes of all sites together. */
  get memory(): number {
    return this.sites.reduce((sum, { memory }) => sum + memory, 0);
  }

  /** Waits for what is to become true, and says what it was waiting for where it does not. */
  async until(what: string, isSo: () => Promise<boolean>, seen = () => ""): Promise<void> {
    const { clock, signal } = this.#options;
    let trouble = "";
    const patient = () =>
      isSo().catch((error: unknown) => {
        trouble = describeError(error);
        return false;
      });
    const was = await waitFor(patient, { clock, timeout: PATIENCE_MS, interval: 100, signal });
    if (was === true) return;
    const last = [seen(), trouble].filter((text) => text !== "").join("; ") || "nothing";
    throw new DemoNotReady({ what, seconds: PATIENCE_MS / 1000, last });
  }

  /** Those of an application, as its home sees them. */
  async pods(home: string, namespace: string, app: string): Promise<readonly Pod[]> {
    return (await (await this.client(home)).list(Pod, { namespace, labelSelector: `app=${app}` })).items;
  }

  /** How many of them that are Ready each node has. */
  async spread(home: string, namespace: string, app: string): Promise<Spread> {
    return spreadOf(await this.pods(home, namespace, app));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#clients.values()].map((client) => client.close()));
    await this.#substrate.remove();
    rmSync(this.#options.directory, { recursive: true, force: true });
    await this.#control[Symbol.asyncDispose]();
  }

  async #start(): Promise<void> {
    const { steps, signal, env } = this.#options;
    const edges = `${EDGES.slice(0, -1).join(", ")} and ${EDGES.at(-1)} at the edge`;
    await steps.step(`${this.#substrate.title}: ${CLOUD} in the cloud, ${edges}`, async () => {
      const page = ensurePage(join(KEPT, "page")).catch((error: unknown) => {
        if (!signal.aborted)
          steps.say(`  The page cannot be built (${describeError(error)}): all else goes on without it.`);
      });
      const program = await this.#program();
      this.#fjordProgram = program.file;
      await this.#substrate.start({
        env: { ...env, NODE_COMPILE_CACHE: program.compiled },
        fjord: program.file,
        page: join(KEPT, "page"),
        control: this.#control.url,
        signal,
        told: (line) => steps.say(`  ${line}`),
      });
      await page;
      await this.shell.write();
    });
    await this.#peer();
    await this.#deploy();
  }

  /** Where it cannot be built, the sources are run: the same, and slower to start. */
  async #program(): Promise<FjordProgram> {
    const { signal, steps } = this.#options;
    return await ensureFjord(join(KEPT, "programs")).catch((error: unknown) => {
      // Ctrl-C ends what builds too.
      signal.throwIfAborted();
      steps.say(`  fjord runs from its sources, because it cannot be built: ${describeError(error)}`);
      return { file: fjordSource, compiled: COMPILED };
    });
  }

  async #reach(name: string, cut: boolean): Promise<string | undefined> {
    const site = this.sites.find((each) => each.name === name);
    if (site === undefined) return `there is no site ${name}: ${this.sites.map((each) => each.name).join(", ")}`;
    if (name === CLOUD && cut) return `${CLOUD} is where you look from: cut off ${EDGES.join(", ")}`;
    await (cut ? site.cut() : site.heal());
    return undefined;
  }

  /** The sites go, and their logs with them. */
  #lastWords(): void {
    for (const site of this.sites) {
      const tail = site.tail();
      if (tail !== "") this.#options.steps.say(`  ${site.name}:\n${tail.replace(/^/gm, "    ")}`);
    }
  }

  async #peer(): Promise<void> {
    const { steps } = this.#options;
    await steps.step(`${CLOUD} and each edge are nodes of each other`, async () => {
      await Promise.all(this.sites.map((site) => this.#share(site)));
      await Promise.all(EDGES.map((edge) => this.#peerWith(edge)));
      await this.show(["fjord", "sites"]);
    });
  }

  async #share({ name, plan }: DemoSite): Promise<void> {
    const spec = { sharing: { resources: SHARED[plan.tier] } };
    await (await this.client(name)).patch(Site, { name }, "merge", { spec }, { signal: this.#options.signal });
  }

  /** The edge pairs by a token of the cloud's; then each takes a slice of the other, at the same time. */
  async #peerWith(edge: string): Promise<void> {
    const way = await this.#substrate.wayToCloud(edge);
    const token = (await this.fjord(["pair", "token", "--context", CLOUD, ...way])).trim();
    await this.fjord(["pair", token, "--both-ways", "--context", edge]);
    const { peering } = this.#substrate;
    await Promise.all([
      this.fjord(["peer", CLOUD, "--context", edge, ...amounts(ASKED.cloud), ...peering]),
      this.fjord(["peer", edge, "--context", CLOUD, ...amounts(ASKED.edge), ...peering]),
    ]);
    this.#options.steps.say(`  ${edge} and ${CLOUD} share with each other`);
  }

  async #deploy(): Promise<void> {
    const { steps } = this.#options;
    await steps.step("a shop: its front end at the edges, its API and a worker in the cloud", async () => {
      await Promise.all([this.#deployShop(), this.#deployRush(CLOUD, "250m"), this.#deployRush(BUSY, "150m")]);
      let answer: ShopAnswer | undefined;
      await this.until("the front end to answer with the worker's prices", async () => {
        answer = await askShop(this.url);
        return answer.status === 200 && answer.page.offers.length > 0;
      });
      steps.shown(`curl ${this.url}`, JSON.stringify(answer?.page));
    });
  }

  async #deployShop(): Promise<void> {
    const { steps, signal } = this.#options;
    const client = await this.#extend(CLOUD, NAMESPACE, ["--when-unreachable=Evict=1s"]);
    const { services, deployments } = application(REPLICAS);
    for (const each of services) await client.create(Service, each, { signal });
    for (const each of deployments) await client.create(Deployment, each, { signal });
    this.shell.manifest("shop.yaml", [...services, ...deployments]);
    for (const [app, wanted] of [
      ["api", 1],
      ["worker", 1],
      ["front", REPLICAS],
    ] as const) {
      await this.until(`the pods of ${app} to be ready`, async () => {
        return total(await this.spread(CLOUD, NAMESPACE, app)) === wanted;
      });
      steps.say(`  ${app} is ready`);
    }
  }

  /** Work with room to grow, at home as long as there is room. */
  async #deployRush(home: string, cpu: string): Promise<void> {
    const client = await this.#extend(home, RUSH, []);
    await client.create(Deployment, rush(cpu), { signal: this.#options.signal });
    this.shell.manifest(`rush-${home}.yaml`, [rush(cpu)]);
    await this.until(`${RUSH_APP} at ${home} to be ready`, async () => {
      return total(await this.spread(home, RUSH, RUSH_APP)) === CALM_REPLICAS;
    });
  }

  /** Makes a namespace whose pods may run at other sites too. */
  async #extend(home: string, name: string, flags: readonly string[]): Promise<KubeClient> {
    const { signal } = this.#options;
    const client = await this.client(home);
    const metadata = { name };
    await client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata }, { signal });
    await this.show(["fjord", "offload", name, ...flags, ...(home === CLOUD ? [] : ["--context", home])]);
    return client;
  }
}

/** Ends what an earlier demo has left, unless it still runs; then takes a berth. */
async function makeRoom(options: DemoOptions): Promise<ControlServer> {
  const { directory, substrate } = options;
  const before = readRecord(directory);
  if (before !== undefined) {
    refuseIfRunning(before, directory);
    await (await openSubstrate(before.substrate, { ...options, berth: before.berth })).remove();
    // Another demo may have cleared up as well meanwhile, and begun.
    refuseIfRunning(readRecord(directory), directory);
    rmSync(directory, { recursive: true, force: true });
  }
  const control = await ControlServer.open();
  const { berth, url } = control;
  try {
    refuseIfRunning(
      writeRecord(directory, { owner: identify(process.pid), berth, substrate, control: url }),
      directory,
    );
    return control;
  } catch (error) {
    await control[Symbol.asyncDispose]();
    throw error;
  }
}

function refuseIfRunning(record: DemoRecord | undefined, directory: string): void {
  if (record?.owner !== undefined && isAlive(record.owner)) throw new DemoRunning({ pid: record.owner.pid, directory });
}

function amounts(resources: Readonly<Record<string, string>>): string[] {
  return Object.entries(resources).map(([name, amount]) => `--${name}=${amount}`);
}
