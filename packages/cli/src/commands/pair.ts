import { Site } from "@fjord/api";
import { mintToken } from "@fjord/continuum/identity";
import type { KubeClient } from "@fjord/kube";
import type { Command } from "commander";
import { checkedName } from "../command-line/checked-names.ts";
import { type ClusterFlags, clusterOptions, connect } from "../command-line/cluster-options.ts";
import type { CommandContext } from "../command-line/command-context.ts";
import { parseDuration } from "../command-line/durations.ts";
import { listOrExplain } from "../command-line/list-or-explain.ts";
import { InvalidValue, NoOwnSite } from "../errors.ts";
import { pairBy } from "../pairing.ts";
import { tellOfSilence } from "../place/agent-silence.ts";

interface PairFlags extends ClusterFlags {
  readonly namespace: string;
  readonly name?: string;
  readonly bothWays: boolean;
  readonly timeout: string;
}

interface TokenFlags extends ClusterFlags {
  readonly namespace: string;
  readonly ttl: string;
  readonly endpoint: readonly string[];
}

/** A token is a secret on its way between two people: it should be of no use long after that. */
const LONGEST_TTL_MS = 7 * 24 * 3_600_000;

const several = (value: string, before: string[]) => [...before, value];

export function addPair(program: Command, context: CommandContext): void {
  const pair = program
    .command("pair")
    .description("get to know another site by a token of its owner")
    .argument("<token>", "what `fjord pair token` printed there");
  clusterOptions(pair)
    .option("--name <name>", "what to call the other site here (default: what it calls itself)")
    .option("--both-ways", "let the other site use this one too, as far as this one shares", false)
    .option("--namespace <name>", "namespace of the agent", "fjord-system")
    .option("--timeout <duration>", "how long to wait", "60s")
    .action(async (token: string, flags: PairFlags) => {
      const { signal, note, print } = context;
      if (flags.name !== undefined) checkedName("--name", flags.name);
      await using client = await connect(flags, context);
      await tellOfSilence(client, context);
      const timeoutMs = parseDuration("--timeout", flags.timeout);
      const { namespace, bothWays, name } = flags;
      const told = (line: string) => note(`${line}\n`);
      const options = { namespace, bothWays, timeoutMs, signal, told, ...(name !== undefined && { siteName: name }) };
      print(`paired with ${await pairBy(client, token, options)}\n`);
    });
  const token = pair
    .command("token")
    .description("print a token with which one other site can pair with this one, once");
  clusterOptions(token)
    .option("--ttl <duration>", "how long it can be redeemed, 7d at most", "1h")
    .option("--endpoint <url>", "where the other site reaches this one (default: what the own Site says)", several, [])
    .option("--namespace <name>", "namespace of the agent", "fjord-system")
    // What `pair` has too, it takes wherever it stands.
    .action((_: TokenFlags, command: Command) => printToken(command.optsWithGlobals<TokenFlags>(), context));
}

async function printToken(flags: TokenFlags, context: CommandContext): Promise<void> {
  const { signal, clock, print } = context;
  const ttlMs = parseDuration("--ttl", flags.ttl);
  if (ttlMs === 0) {
    throw new InvalidValue({ option: "--ttl", value: flags.ttl, reason: "nobody could redeem such a token" });
  }
  if (ttlMs > LONGEST_TTL_MS)
    throw new InvalidValue({
      option: "--ttl",
      value: flags.ttl,
      reason: "whoever finds a token may redeem it, so that none is good for more than a week (7d)",
    });
  await using client = await connect(flags, context);
  await tellOfSilence(client, context);
  const own = await ownSite(client, signal);
  const endpoints = flags.endpoint.length > 0 ? flags.endpoint : (own.spec.endpoints ?? []);
  if (endpoints.length === 0)
    context.warn(
      "this site has no endpoints, so nobody can redeem this token: redeem one of the other site here (`fjord pair TOKEN --both-ways`), or say with --endpoint where this one is reached\n",
    );
  const site = own.status?.id ?? "";
  const { text } = await mintToken({ client, namespace: flags.namespace, site, endpoints, clock, ttlMs, signal });
  print(`${text}\n`);
}

async function ownSite(client: KubeClient, signal: AbortSignal): Promise<Site> {
  const sites = await listOrExplain(client, Site, signal);
  const own = sites.find(({ status }) => status?.role === "Self" && status.id !== undefined);
  if (own === undefined) throw new NoOwnSite({ server: client.transport.server });
  return own;
}
