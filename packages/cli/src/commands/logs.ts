import { type KubeClient, Pod } from "@fjord/kube";
import { type Command, Option } from "commander";
import { type ClusterFlags, clusterOptions, connect } from "../command-line/cluster-options.ts";
import type { CommandContext } from "../command-line/command-context.ts";
import { parseDuration } from "../command-line/durations.ts";
import { AmbiguousTarget, InvalidValue, LogUnread, NoContainer, NoPods, NoTarget } from "../errors.ts";
import { LinePrefix } from "../output/line-prefix.ts";
import { TerminalLines } from "../output/terminal-text.ts";
import { placesAsFarAsMay } from "../place/known-places.ts";
import { containersIn, type LogStream, readLogs, streamsOf, unreadText } from "../place/log-streams.ts";
import { watchSilence } from "../place/silent-sites.ts";
import { podsOf } from "../place/workload-pods.ts";
import { workloadReference } from "../place/workload-reference.ts";

interface LogFlags extends ClusterFlags {
  readonly namespace?: string;
  readonly selector?: string;
  readonly container?: string;
  readonly follow: boolean;
  readonly previous: boolean;
  readonly timestamps: boolean;
  readonly prefix: boolean;
  readonly tail?: string;
  readonly since?: string;
}

export function addLogs(program: Command, context: CommandContext): void {
  const command = program
    .command("logs")
    .description("print what pods have written, whichever sites they are at")
    .argument("[target...]", "a pod, or a workload as deployment/web: then all of its pods");
  clusterOptions(command)
    .option("-n, --namespace <name>", "namespace (default: the context's)")
    .option("-l, --selector <labels>", "all pods with these labels")
    .option("-c, --container <name>", "only this container (default: all of them)")
    .addOption(new Option("-f, --follow", "go on until they end").default(false))
    .addOption(new Option("-p, --previous", "of the containers before the last restart").default(false))
    .addOption(new Option("--timestamps", "with the time of each line").default(false))
    .addOption(
      new Option("--prefix", "with site and pod before each line (default: where there are several)").default(false),
    )
    .option("--tail <lines>", "only the last lines of each")
    .option("--since <duration>", "only what is newer, such as 10m")
    .action((target: readonly string[], flags: LogFlags) => logs(target, flags, context));
}

async function logs(target: readonly string[], flags: LogFlags, context: CommandContext): Promise<void> {
  const { signal, print, paint, isTerminal, warn, clock } = context;
  const options = logOptions(flags);
  if (target.length === 0 && flags.selector === undefined) throw new NoTarget({});
  if (target.length > 0 && flags.selector !== undefined)
    throw new AmbiguousTarget({ target: target.join(" "), reason: "give either a target or --selector" });
  await using client = await connect(flags, context);
  const namespace = flags.namespace ?? client.namespace;
  const called = flags.selector === undefined ? target.join("/") : `-l ${flags.selector}`;
  const pods = await chosen(client, target, namespace, flags, signal);
  if (pods.length === 0) throw new NoPods({ target: called, namespace });
  const streams = streamsOf(pods, flags.container);
  if (streams.length === 0)
    throw new NoContainer({ target: called, name: flags.container, containers: containersIn(pods).join(", ") });
  const several = flags.prefix || streams.length > 1;
  const read = async ({ pod, container }: LogStream, site: string) => {
    const { name = "" } = pod.metadata;
    const prefix = several ? paint("dim", `[${site} ${name} ${container}] `) : "";
    const lines = new LinePrefix(prefix, isTerminal ? new TerminalLines() : undefined);
    try {
      for await (const chunk of client.log({ name, namespace }, { ...options, container, signal }))
        print(lines.take(chunk));
    } finally {
      print(lines.rest());
    }
  };
  const over = new AbortController();
  const places = (either = signal) => placesAsFarAsMay(client, either);
  const silence = flags.follow
    ? watchSilence(
        pods.flatMap(({ spec }) => spec?.nodeName ?? []),
        { places, told: (text) => warn(`${text}\n`), clock, signal: AbortSignal.any([signal, over.signal]) },
      )
    : Promise.resolve();
  const unread = await readLogs(streams, {
    places,
    read,
    together: flags.follow,
    // The others go on, maybe for long.
    told: (text) => flags.follow && several && warn(`${text}\n`),
    signal,
  }).finally(() => over.abort());
  await silence;
  if (unread.length === 0) return;
  const what = streams.length === 1 ? "the log" : `${unread.length} of ${streams.length} logs`;
  throw new LogUnread({ what, reason: unreadText(unread) });
}

const OLDEST_MS = 100 * 365 * 86_400_000;

function logOptions(flags: LogFlags) {
  const tailLines = flags.tail === undefined ? undefined : Number(flags.tail);
  if (tailLines !== undefined && !(Number.isInteger(tailLines) && tailLines >= -1))
    throw new InvalidValue({ option: "--tail", value: flags.tail, reason: "it must be a number of lines" });
  const since = flags.since === undefined ? undefined : parseDuration("--since", flags.since);
  return {
    follow: flags.follow,
    previous: flags.previous,
    timestamps: flags.timestamps,
    ...(tailLines !== undefined && tailLines >= 0 && { tailLines }),
    // Servers count such times in nanoseconds, of which they can count 292 years; nobody has older logs.
    ...(since !== undefined && since < OLDEST_MS && { sinceSeconds: Math.max(1, Math.ceil(since / 1000)) }),
  };
}

async function chosen(
  client: KubeClient,
  target: readonly string[],
  namespace: string,
  flags: LogFlags,
  signal: AbortSignal,
): Promise<Pod[]> {
  if (flags.selector === undefined) return podsOf(client, workloadReference(target), namespace, signal);
  return (await client.list(Pod, { namespace, labelSelector: flags.selector, signal })).items;
}
