import { AGENT_NAMESPACE, Link } from "@fjord/api";
import { sleep } from "@fjord/base";
import { LINK_SECRET, replaceLinkKey } from "@fjord/continuum/network-path";
import { isNotFound } from "@fjord/kube";
import type { Command } from "commander";
import { type ClusterFlags, clusterOptions, connect } from "../command-line/cluster-options.ts";
import type { CommandContext } from "../command-line/command-context.ts";
import { withDeadline } from "../command-line/deadline.ts";
import { parseDuration } from "../command-line/durations.ts";
import { listOrExplain } from "../command-line/list-or-explain.ts";
import { KeyNotInUse, NoSuchThing } from "../errors.ts";

interface RotateFlags extends ClusterFlags {
  readonly namespace: string;
  readonly wait: boolean;
  readonly timeout: string;
}

const LOOK_MS = 500;

export function addRotateKey(network: Command, context: CommandContext): void {
  const command = network
    .command("rotate-key")
    .description("give this site's links another WireGuard key, while they carry packets");
  clusterOptions(command)
    .option("--namespace <name>", "namespace of the agent", AGENT_NAMESPACE)
    .option("--no-wait", "return without waiting for peers to use it")
    .option("--timeout <duration>", "how long to wait", "60s")
    .action((flags: RotateFlags) => rotateKey(flags, context));
}

async function rotateKey(flags: RotateFlags, context: CommandContext): Promise<void> {
  const { signal, clock, print, note } = context;
  const timeoutMs = parseDuration("--timeout", flags.timeout);
  await using client = await connect(flags, context);
  const before = await listOrExplain(client, Link, signal);
  const start = clock.now();
  const key = await replaceLinkKey(client, flags.namespace, start, signal).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    const hint = ": it is made with the first link";
    throw new NoSuchThing({ what: "Secret", name: `${flags.namespace}/${LINK_SECRET}`, hint }, { cause: error });
  });
  const wasUp = new Set(before.filter(isUp).map(({ metadata }) => metadata.name));
  if (flags.wait && wasUp.size > 0) {
    let last = "";
    const late = () => new KeyNotInUse({ seconds: timeoutMs / 1000, last: last || "the API has not answered" });
    await withDeadline({ signal, clock, timeoutMs, late }, async (either) => {
      for (;;) {
        const links = (await listOrExplain(client, Link, either)).filter(({ metadata }) => wasUp.has(metadata.name));
        const behind = links.filter((link) => !usesKey(link, key, start));
        if (behind.length === 0) return;
        const progress = `${links.length - behind.length} of ${links.length} links use it`;
        if (progress !== last) note(`${progress}\n`);
        last = progress;
        await sleep(clock, LOOK_MS, either);
        either.throwIfAborted();
      }
    });
  }
  print(`the key of this site's links is now ${key}\n`);
}

function isUp({ status }: Link): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True") ?? false;
}

/** The gateway has it, and has agreed with the peer on a session by it. WireGuard counts in whole seconds. */
export function usesKey({ status }: Link, key: string, since: number): boolean {
  return status?.ownKey === key && Date.parse(status.handshakeAt ?? "") >= Math.floor(since / 1000) * 1000;
}
