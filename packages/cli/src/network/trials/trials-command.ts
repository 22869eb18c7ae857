import { sleep } from "@fjord/base";
import type { KubeClient } from "@fjord/kube";
import type { Command } from "commander";
import { type ClusterFlags, clusterOptions, connect } from "../../command-line/cluster-options.ts";
import type { CommandContext } from "../../command-line/command-context.ts";
import { parseDuration } from "../../command-line/durations.ts";
import { InvalidValue } from "../../errors.ts";
import { colourTable } from "../../output/colour.ts";
import { formatValue, type Output, outputOption } from "../../output/format.ts";
import { podText } from "../end-text.ts";
import { withOwnPods } from "../own-pods/own-pods.ts";
import { type PeersFlags, peerClients, peersOptions } from "../peer-options.ts";
import { plansWith } from "../plans-with.ts";
import { type SiteNetwork, siteNetwork } from "../site-network.ts";
import { outsiderOf } from "./outsider.ts";
import { matrix } from "./trial-matrix.ts";
import { type RowMeans, trialRows } from "./trial-rows.ts";
import { COLUMNS, type TrialRow } from "./trials.ts";

interface TestFlags extends ClusterFlags, PeersFlags {
  readonly outsider?: string;
  readonly deploy: boolean;
  readonly image: string;
  readonly timeout: string;
  readonly output: Output;
}

/** What a link lets pass follows pods that have just come, in seconds. */
const SETTLE_MS = 30_000;
const LOOK_AGAIN_MS = 1_000;

export function addNetworkTest(network: Command, context: CommandContext): void {
  const command = network
    .command("test")
    .description("try every link in both directions: pods ask each other by commands that are run in them")
    .argument("[sites...]", "of these peers alone");
  peersOptions(outputOption(clusterOptions(command), ["wide", "json", "yaml"]))
    .option("--outsider <namespace/pod>", "a pod that may not use links, to see that it cannot")
    .option(
      "--deploy",
      "bring pods for it to every site, in namespaces of their own, and remove them at the end; no others are asked",
      false,
    )
    .option("--image <image>", "of these pods, with sh, and busybox or python3", "busybox:1")
    .option("--timeout <duration>", "how long to wait for them", "120s")
    .action((sites: readonly string[], flags: TestFlags) => test(sites, flags, context));
}

async function test(sites: readonly string[], flags: TestFlags, context: CommandContext): Promise<void> {
  const { signal, print } = context;
  const named = flags.outsider === undefined ? undefined : podText("--outsider", flags.outsider);
  const timeoutMs = parseDuration("--timeout", flags.timeout);
  if (flags.deploy && flags.outsider !== undefined)
    throw new InvalidValue({
      option: "--outsider",
      value: flags.outsider,
      reason: "--deploy brings outsiders of its own: leave one of the two out",
    });
  await using client = await connect(flags, context);
  const network = await siteNetwork(client, signal);
  await using peers = await peerClients(flags, context);
  const others = await Promise.all(peers.clients.map((peer) => siteNetwork(peer, signal)));
  const plans = plansOf(sites, network);
  const outsider = named && (await outsiderOf(client, named, { ...network, plans }, signal));
  const run: RowMeans["run"] = async ({ namespace, pod }, script) =>
    (await client.exec({ name: pod, namespace }, { command: ["sh", "-c", script], signal })).exitCode;
  const means = { client, network, run, signal, others, ...(outsider && { outsider }) };
  const rows =
    flags.deploy && plans.length > 0
      ? await withOwnPods({ client, network, plans, image: flags.image, timeoutMs }, context, async (pods) => {
          if (pods.areMissing) context.setExitCode(1);
          return await settledRows(sites, { ...means, pods }, client, context);
        })
      : await askedRows(plans, means, context);
  if (rows.some(hasFailed)) context.setExitCode(1);
  const formatted = await formatValue({ items: rows }, flags.output, context.isTerminal);
  if (formatted !== undefined) return print(formatted);
  const shown = rows.length === 0 ? "there are no links to test\n" : matrix(rows, flags.output.format === "wide");
  print(colourTable(shown, context.paint));
}

function plansOf(sites: readonly string[], network: SiteNetwork) {
  return plansWith(sites, network.plans, (id) => network.nameOf(id) ?? id);
}

async function askedRows(plans: SiteNetwork["plans"], means: RowMeans, context: CommandContext): Promise<TrialRow[]> {
  if (plans.length > 0) context.note("pods ask each other, which takes some seconds\n");
  return await trialRows(plans, means);
}

/** Asks again what has failed, for a while: pods have just come, and links, names and policies follow. */
async function settledRows(
  sites: readonly string[],
  means: RowMeans,
  client: KubeClient,
  context: CommandContext,
): Promise<TrialRow[]> {
  const { clock, signal, note } = context;
  const until = clock.now() + SETTLE_MS;
  for (let isFirst = true; ; isFirst = false) {
    const network = await siteNetwork(client, signal);
    const plans = plansOf(sites, network);
    const rows = isFirst
      ? await askedRows(plans, { ...means, network }, context)
      : await trialRows(plans, { ...means, network });
    const isSettled = !rows.some((row) => hasFailed(row) || row.outcomes.pod.result === "NotTested");
    if (isSettled || clock.now() >= until) return rows;
    if (isFirst) note("not all are answered yet: they ask again\n");
    await sleep(clock, LOOK_AGAIN_MS, signal);
    signal.throwIfAborted();
  }
}

function hasFailed({ outcomes }: TrialRow): boolean {
  return COLUMNS.some((column) => outcomes[column].result === "Failed");
}
