import { AddressPlan, AGENT_NAMESPACE, Link, Peering, Site } from "@fjord/api";
import { didYouMean, sleep } from "@fjord/base";
import { CAPTURE_PROTOCOLS, type CapturedPacket, type CaptureRequest } from "@fjord/continuum/network-capture";
import { type KubeClient, Pod } from "@fjord/kube";
import { type Command, Option } from "commander";
import { type ClusterFlags, clusterOptions, connect } from "../../command-line/cluster-options.ts";
import type { CommandContext } from "../../command-line/command-context.ts";
import { listOrExplain } from "../../command-line/list-or-explain.ts";
import { CaptureRefused, InvalidValue, NoLink, NoSuchThing, ThisSite } from "../../errors.ts";
import { idOf } from "../../place/known-places.ts";
import { type NamedText, podText } from "../end-text.ts";
import { whyNoLink } from "../link-waits.ts";
import { namedObject } from "../named-object.ts";
import { captureLimits, type FilterFlags, podHosts } from "./capture-filter.ts";
import { type CaptureOutput, fileOutput, lineOutput, pipeOutput } from "./capture-output.ts";
import { type Carrier, carriersOf, carryingNodes, GATEWAY_PORT, localCarrier } from "./carriers.ts";
import { withProof } from "./proof.ts";
import { readCapture } from "./read-capture.ts";

interface CaptureFlags extends ClusterFlags, FilterFlags {
  readonly namespace?: string;
  readonly pod?: string;
  readonly file?: string;
  readonly gateway?: string;
  readonly agentNamespace: string;
}

const several = (value: string, before: readonly string[]) => [...before, value];

export function addCapture(network: Command, context: CommandContext): void {
  const command = network
    .command("capture")
    .description("show packets of the link with a peer, as this site's gateway sees them, or write them to a file")
    .argument("<peer>", "the other site");
  clusterOptions(command)
    .option("-n, --namespace <name>", "only packets of pods of this namespace, as they are now")
    .option("--pod <name>", "only packets of this pod (NAME, NAMESPACE/NAME or pod/NAMESPACE/NAME)")
    .option("--host <address>", "only packets with this address or range at either end; several times", several, [])
    .option("--port <port>", "only packets with this port at either end; several times", several, [])
    .addOption(new Option("--protocol <name>", "only packets of this protocol").choices(CAPTURE_PROTOCOLS))
    .option("--file <path>", "write a file for tcpdump and Wireshark, `-` for standard output (default: print lines)")
    .option("--duration <duration>", "how long, at most 1h", "1m")
    .option("--packets <count>", "how many (default: all)")
    .option("--bytes <amount>", "how much, at most 1Gi", "64Mi")
    .option("--snaplen <bytes>", "only so much of each packet (default: all)")
    .option(
      "--gateway <url>",
      "where the gateway serves its metrics, where it is no pod (default: this machine, port 7448)",
    )
    .option("--agent-namespace <name>", "namespace of agent and gateways", AGENT_NAMESPACE)
    .action((peer: string, flags: CaptureFlags) => capture(peer, flags, context));
}

async function capture(peer: string, flags: CaptureFlags, context: CommandContext): Promise<void> {
  const { signal } = context;
  const limits = captureLimits(flags);
  const pod = flags.pod === undefined ? undefined : podText("--pod", flags.pod);
  if (flags.gateway !== undefined && !/^http:\/\/[^/]+\/?$/.test(flags.gateway))
    throw new InvalidValue({
      option: "--gateway",
      value: flags.gateway,
      reason: "it must be as http://127.0.0.1:7448",
    });
  await using client = await connect(flags, context);
  const site = await linkedSite(client, peer, signal);
  const pods = await podsOf(client, pod, flags.namespace, signal);
  const request: CaptureRequest = {
    ...limits,
    site,
    hosts: [...(limits.hosts ?? []), ...(pods === undefined ? [] : [pods])],
  };
  await using output = await outputOf(flags, context);
  await new Run(client, { peer, request, flags, output }, context).run();
}

async function outputOf({ file }: CaptureFlags, { print }: CommandContext): Promise<CaptureOutput> {
  if (file === undefined) return lineOutput(print);
  return file === "-" ? await pipeOutput(process.stdout) : await fileOutput(file);
}

/** Id of a site with which there is a link, by its name or its id. */
async function linkedSite(client: KubeClient, name: string, signal: AbortSignal): Promise<string> {
  const [sites, links] = await Promise.all([listOrExplain(client, Site, signal), listOrExplain(client, Link, signal)]);
  const site = sites.find(({ metadata }) => metadata.name === name);
  if (site?.status?.role === "Self") throw new ThisSite({ name, what: "have a link with itself" });
  const id = (site && idOf(site)) ?? name;
  if (links.some(({ spec }) => spec.site === id)) return id;
  if (site === undefined) {
    const names = sites.map(({ metadata }) => metadata.name ?? "");
    throw new NoSuchThing({ what: "site", name, hint: didYouMean(name, names) });
  }
  const [plans, peerings] = await Promise.all([
    listOrExplain(client, AddressPlan, signal),
    listOrExplain(client, Peering, signal),
  ]);
  throw new NoLink({ site: name, reason: whyNoLink(site, { sites, plans, peerings }) });
}

/** Addresses that are meant by namespace and pod; undefined where none is named. */
async function podsOf(
  client: KubeClient,
  pod: NamedText | undefined,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<string[] | undefined> {
  if (pod !== undefined) {
    const found = await namedObject(client, Pod, pod, namespace ?? client.namespace, signal);
    return podHosts([found], `pod ${found.metadata.namespace}/${found.metadata.name}`);
  }
  if (namespace === undefined) return undefined;
  const { items } = await client.list(Pod, { namespace, signal, omitManagedFields: true });
  return podHosts(items, `any pod of namespace ${namespace}`);
}

interface RunOptions {
  readonly peer: string;
  readonly request: CaptureRequest;
  readonly flags: CaptureFlags;
  readonly output: CaptureOutput;
}

/** So long another node may take to carry the links that one has let go. */
const MOVE_MS = 15_000;
const AGAIN_MS = 500;
/** A gateway that does not end in time is left; one that does says what was lost. */
const GRACE_MS = 2_000;

/** One capture, by all nodes that carry the link, and by those that do later. */
class Run {
  readonly #client: KubeClient;
  readonly #options: RunOptions;
  readonly #context: CommandContext;
  readonly #enough = new AbortController();
  #packets = 0;
  #bytes = 0;
  #lost = 0;
  #reason = "";
  #writing: Promise<void> = Promise.resolve();
  #hasBegun = false;

  constructor(client: KubeClient, options: RunOptions, context: CommandContext) {
    this.#client = client;
    this.#options = options;
    this.#context = context;
  }

  async run(): Promise<void> {
    const { clock, signal, note } = this.#context;
    const { request, peer } = this.#options;
    const began = clock.now();
    const cancel = clock.after(request.durationMs + GRACE_MS, () =>
      this.#end(`--duration ${this.#options.flags.duration}`),
    );
    const over = AbortSignal.any([signal, this.#enough.signal]);
    try {
      for (let lostAt: number | undefined; !over.aborted; ) {
        const left = request.durationMs - (clock.now() - began);
        if (left < 1) break;
        const hadAny = await this.#round({ ...request, durationMs: Math.ceil(left) }, over, lostAt !== undefined);
        if (over.aborted) break;
        lostAt = hadAny ? clock.now() : (lostAt ?? clock.now());
        if (clock.now() - lostAt > MOVE_MS)
          throw new CaptureRefused({ gateway: "the site", reason: "no node carries the link any more" });
        if (hadAny) note("the link has left its gateway; looking for the one that carries it now\n");
        await sleep(clock, AGAIN_MS, over);
      }
    } finally {
      cancel();
      await this.#writing;
      if (this.#hasBegun) note(this.#summary(peer, (clock.now() - began) / 1000));
    }
  }

  /** Until none of those that carry the link now does so any more. Whether any did. */
  async #round(request: CaptureRequest, over: AbortSignal, isAgain: boolean): Promise<boolean> {
    const carriers = await this.#carriers(over);
    const { note } = this.#context;
    const ends = await withProof({ client: this.#client, signal: over, note }, (code) =>
      Promise.allSettled(carriers.map((carrier) => this.#from(carrier, code, request, over))),
    );
    const failed = ends.flatMap((end) => (end.status === "rejected" ? [end.reason] : []));
    if (over.aborted) return true;
    const fatal = failed.find((error) => !isPassing(error)) ?? (failed.length === ends.length && !isAgain && failed[0]);
    if (fatal) throw fatal;
    return ends.some(({ status }) => status === "fulfilled");
  }

  async #carriers(signal: AbortSignal): Promise<Carrier[]> {
    const { flags, request } = this.#options;
    if (flags.gateway !== undefined) return [localCarrier(flags.gateway)];
    const [sites, link] = await Promise.all([
      listOrExplain(this.#client, Site, signal),
      this.#client.get(Link, { name: request.site }, { signal }),
    ]);
    const own = sites.find(({ status }) => status?.role === "Self");
    const nodes = carryingNodes(own ?? {}, link);
    return await carriersOf(nodes, { client: this.#client, namespace: flags.agentNamespace, signal });
  }

  async #from({ title, way }: Carrier, code: string, request: CaptureRequest, signal: AbortSignal): Promise<void> {
    const { flags, peer } = this.#options;
    const key = "pod" in way ? { namespace: flags.agentNamespace, name: way.pod } : undefined;
    const summary = await readCapture({
      title,
      ...(key && { connect: () => this.#client.portForward(key, { port: GATEWAY_PORT, signal }) }),
      url: "url" in way ? way.url : `http://127.0.0.1:${GATEWAY_PORT}`,
      code,
      request,
      signal,
      begun: () => {
        this.#hasBegun = true;
        this.#context.note(`packets of the link with ${peer}, as ${title} sees them; Ctrl-C ends it\n`);
      },
      packet: (packet) => this.#take(packet),
    });
    this.#lost += summary?.lost ?? 0;
    const reason = {
      Duration: `--duration ${flags.duration}`,
      Packets: `--packets ${flags.packets}`,
      Bytes: `--bytes ${flags.bytes}`,
    };
    const end = summary?.end ?? "";
    if (end in reason) this.#end(reason[end as keyof typeof reason]);
  }

  /** One after the other, whichever node they come from. */
  #take(packet: CapturedPacket): Promise<void> {
    const { request, output } = this.#options;
    const turn = this.#writing.then(async () => {
      if (this.#enough.signal.aborted || this.#context.signal.aborted) return;
      this.#packets++;
      this.#bytes += packet.bytes.length;
      await output.write(packet);
      if (this.#packets === request.packets) this.#end(`--packets ${request.packets}`);
    });
    this.#writing = turn.catch(() => {});
    return turn;
  }

  #end(reason: string): void {
    this.#reason ||= reason;
    this.#enough.abort();
  }

  #summary(peer: string, seconds: number): string {
    const lost = this.#lost === 0 ? "" : `; ${this.#lost} more came too fast, and are lost`;
    const reason = this.#reason === "" ? "" : `; it has ended by ${this.#reason}`;
    return `${this.#packets} packets, ${this.#bytes} bytes, of the link with ${peer} in ${seconds.toFixed(1)} s${lost}${reason}\n`;
  }
}

/** It may be otherwise where the link is by now. */
function isPassing(error: unknown): boolean {
  const refusal = (error as { refusal?: string }).refusal;
  return error instanceof CaptureRefused && (refusal === undefined || refusal === "CAPTURE_LINK_NOT_HERE");
}
