import { meantByGuest, type PacketPath, type PathEnd, packetPath } from "@fjord/continuum/network-path";
import type { Command } from "commander";
import { type ClusterFlags, clusterOptions, connect } from "../command-line/cluster-options.ts";
import type { CommandContext, Style } from "../command-line/command-context.ts";
import { UnclearEnd } from "../errors.ts";
import { formatValue, type Output, outputOption } from "../output/format.ts";
import { shownInLine } from "../output/terminal-text.ts";
import { ownSiteIn } from "../place/known-places.ts";
import { endText } from "./end-text.ts";
import type { LeftOut } from "./left-out.ts";
import { outsideAdvice } from "./outside-clients.ts";
import { type PathEnds, pathEnds } from "./path-ends.ts";
import { type PeerFlags, peerClient, peerOptions } from "./peer-options.ts";
import { isKnownThere, seenThere } from "./seen-there.ts";
import { type SiteNetwork, siteNetwork, withPolicies } from "./site-network.ts";

interface ExplainFlags extends ClusterFlags, PeerFlags {
  readonly namespace?: string;
  readonly output: Output;
}

/** All ways between two ends. */
export interface PathAnswer {
  readonly from: string;
  readonly to: string;
  readonly verdict: PacketPath["verdict"] | "Partly";
  /** Of a Service one for each endpoint. */
  readonly paths: readonly PacketPath[];
  /** Endpoints of a Service that nothing is sent to. */
  readonly leftOut?: readonly LeftOut[];
  readonly advice: readonly string[];
}

const ENDS =
  "a pod (NAME, pod/NAME or pod/NAMESPACE/NAME), an address as called here, or a site's own one as ADDRESS@SITE";

export function addNetworkExplain(network: Command, context: CommandContext): void {
  const command = network
    .command("explain")
    .description("show every hop, translation and rule of a packet's way, and where it would be dropped")
    .argument("<from>", ENDS)
    .argument("<to>", "the same, or service/NAME");
  peerOptions(outputOption(clusterOptions(command), ["json", "yaml"], "text"))
    .option("-n, --namespace <name>", "namespace of pods and Services (default: the context's)")
    .action((from: string, to: string, flags: ExplainFlags) => explain(from, to, flags, context));
}

async function explain(from: string, to: string, flags: ExplainFlags, context: CommandContext): Promise<void> {
  const { signal, print } = context;
  const texts = { from: endText(from), to: endText(to) };
  if (texts.from.kind === "Service")
    throw new UnclearEnd({ end: from, reason: "a Service sends nothing; name a pod that would" });
  await using client = await connect(flags, context);
  const network = await siteNetwork(client, signal);
  const namespace = flags.namespace ?? client.namespace;
  const sources = await pathEnds(network, texts.from, namespace, signal);
  if (sources.service !== undefined)
    throw new UnclearEnd({ end: from, reason: `it is ${sources.service.title}, which sends nothing; name a pod` });
  // A guest may say what its home calls others.
  const word =
    texts.to.kind === "Address" && texts.to.site === undefined
      ? meantByGuest(network.links, sources.ends[0]?.address ?? "", texts.to.address)
      : undefined;
  const meant = word === undefined ? texts.to : ({ ...texts.to, address: word.address } as typeof texts.to);
  const found = await pathEnds(network, meant, namespace, signal, sources.ends[0]);
  const targets =
    word === undefined
      ? found
      : { ...found, ends: found.ends.map((end) => ({ ...end, word: { address: to, home: word.home } })) };
  await using peer = await peerClient(flags, context);
  const other = peer && (await siteNetwork(peer, signal));
  const answer = await answerOf(network, other, sources.ends[0] as PathEnd, targets, signal);
  if (answer.verdict === "Dropped" || answer.verdict === "Partly") context.setExitCode(1);
  const formatted = await formatValue(answer, flags.output, context.isTerminal);
  if (formatted !== undefined) return print(formatted);
  print(inWords(answer, context.paint));
}

/** All ways, by what this site knows, and by what the other does where that knows more. */
export async function answerOf(
  network: SiteNetwork,
  peer: SiteNetwork | undefined,
  source: PathEnd,
  { ends, service }: PathEnds,
  signal: AbortSignal,
): Promise<PathAnswer> {
  const from = await seenThere(network, peer, source, signal);
  const targets = await Promise.all(ends.map((end) => seenThere(network, peer, end, signal)));
  const all = [from, ...targets];
  const names = (which: "pod" | "there") => all.flatMap((end) => end.here[which]?.metadata.namespace ?? []);
  const here = await withPolicies(network, names("pod"), signal);
  const there = peer && (await withPolicies(peer, names("there"), signal));
  const paths = targets.map((to) => {
    if (there !== undefined && from.there && to.there && isKnownThere(network, there, [from, to]))
      return packetPath(there, undefined, from.there, to.there);
    return packetPath(here, [from.here.site, to.here.site].includes(there?.id) ? there : undefined, from.here, to.here);
  });
  const leftOut = service?.leftOut ?? [];
  const { machines } = ownSiteIn(network.places)?.spec.network ?? {};
  const outside = service?.isForOutside ? outsideAdvice(ends, network, machines) : [];
  return {
    from: from.here.title,
    to: service === undefined ? (ends[0]?.title ?? "") : `${service.title} (${service.address})`,
    verdict: verdictOf(paths),
    paths,
    ...(leftOut.length > 0 && { leftOut }),
    advice:
      paths.length === 0 && leftOut.length === 0
        ? ["the Service has no endpoint that is ready: does a pod match its selector, and is it Ready?"]
        : [...new Set([...paths.flatMap(({ advice }) => advice), ...outside])],
  };
}

/** Of all that may answer: nothing arrives where nobody does. */
export function verdictOf(paths: readonly Pick<PacketPath, "verdict">[]): PathAnswer["verdict"] {
  const has = (wanted: PacketPath["verdict"]) => paths.some(({ verdict }) => verdict === wanted);
  if (has("Dropped")) return paths.every(({ verdict }) => verdict === "Dropped") ? "Dropped" : "Partly";
  if (has("Unknown")) return "Unknown";
  return paths.length === 0 ? "Dropped" : "Delivered";
}

const MARKS = { Passes: "ok", Dropped: "DROPPED", Unknown: "?" } as const;
const STYLES = { Passes: "green", Dropped: "red", Unknown: "yellow" } as const satisfies Record<string, Style>;

/** For people: a line for each hop, below what it does. */
export function inWords(answer: PathAnswer, paint: CommandContext["paint"]): string {
  const { leftOut = [] } = answer;
  const count = leftOut.length === 1 ? "1 endpoint is" : `${leftOut.length} endpoints are`;
  const but = leftOut.length === 0 ? "" : `; ${count} left out`;
  const lines = [paint("bold", shownInLine(`From ${answer.from} to ${answer.to}: ${words[answer.verdict]}${but}`))];
  const placeOf = ({ site, at }: PacketPath["hops"][number]) => (site === undefined ? at : `${site} ${at}`);
  const width = Math.max(...answer.paths.flatMap(({ hops }) => hops.map((hop) => placeOf(hop).length)));
  for (const { to, hops } of answer.paths) {
    if (answer.paths.length > 1 || answer.to !== to) lines.push(shownInLine(`  by ${to}`));
    for (const hop of hops) {
      const { what, rule, source, destination, verdict } = hop;
      const mark = paint(STYLES[verdict], MARKS[verdict].padEnd(8));
      lines.push(`  ${mark}${shownInLine(`${placeOf(hop).padEnd(width)} ${source} -> ${destination}`)}`);
      lines.push(shownInLine(`          ${what}${rule === undefined ? "" : ` [${rule}]`}`));
    }
  }
  for (const { to, reason } of leftOut) lines.push(shownInLine(`  left out: ${to}: ${reason}`));
  for (const each of answer.advice) lines.push(`  ${paint("yellow", "What to do:")} ${shownInLine(each)}`);
  return `${lines.join("\n")}\n`;
}

const words: Readonly<Record<PathAnswer["verdict"], string>> = {
  Delivered: "it arrives",
  Dropped: "it is dropped",
  Unknown: "nothing that is seen from here drops it",
  Partly: "some of it is dropped, by which endpoint answers",
};
