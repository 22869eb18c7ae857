import { Site } from "@fjord/api";
import type { Kind, KubeObject } from "@fjord/base";
import type { KubeClient } from "@fjord/kube";
import { type Command, Option } from "commander";
import { colourTable } from "../output/colour.ts";
import { formatValue, nameLines, type Output, outputOption } from "../output/format.ts";
import { agentSilence, silenced } from "../place/agent-silence.ts";
import { type ClusterFlags, clusterOptions, connect } from "./cluster-options.ts";
import type { CommandContext } from "./command-context.ts";
import { followLists } from "./follow-lists.ts";
import { listOrExplain } from "./list-or-explain.ts";

export interface ListFlags extends ClusterFlags {
  readonly output: Output;
  readonly watch: boolean;
}

/** What a command that lists shows, and how. */
export interface Listing<Lists extends readonly KubeObject[][], More = undefined> {
  readonly kinds: { readonly [Index in keyof Lists]: Kind<Lists[Index][number]> };
  /** What of all that there is was asked for. */
  readonly chosen?: (lists: Lists) => Lists;
  /** What is looked up beside the lists, each time that they are shown; `isMoving` has it looked up again soon. */
  readonly more?: (client: KubeClient, lists: Lists, now: number, signal: AbortSignal) => Promise<More>;
  readonly isMoving?: (more: More) => boolean;
  /** Whose names are printed; all of the lists unless some of them are only there to be looked things up in. */
  readonly named?: (lists: Lists) => readonly KubeObject[];
  /** For json, yaml and jsonpath. */
  readonly value: (lists: Lists, more: More | undefined) => unknown;
  readonly table: (lists: Lists, wide: boolean, now: number, more: More | undefined) => string;
}

/** The options of a command that lists, as kubectl has them. */
export function listOptions(command: Command): Command {
  return outputOption(clusterOptions(command)).addOption(
    new Option("-w, --watch", "go on, and show it again whenever something has changed").default(false),
  );
}

/** Prints what there is, once or for as long as somebody looks. */
export async function showLists<Lists extends readonly KubeObject[][], More = undefined>(
  listing: Listing<Lists, More>,
  { output, watch, ...cluster }: ListFlags,
  context: CommandContext,
): Promise<void> {
  const { signal, clock, print, warn, paint, isTerminal } = context;
  await using client = await connect(cluster, context);
  let told: string | undefined;
  const render = async (all: Lists) => {
    const lists = listing.chosen?.(all) ?? all;
    if (output.format === "name") return { text: nameLines(listing.named?.(lists) ?? lists.flat()), isMoving: false };
    const more = await listing.more?.(client, lists, clock.now(), signal);
    const silence = await agentSilence(client, context, signal);
    if (silence !== undefined && silence !== told) warn(`${silence}: what is shown may be from then\n`);
    told = silence;
    const shown = lists.map((list) => list.map((each) => shownObject(each, silence, clock.now()))) as unknown as Lists;
    const text =
      (await formatValue(listing.value(lists, more), output, isTerminal)) ??
      colourTable(listing.table(shown, output.format === "wide", clock.now(), more), paint);
    return { text, isMoving: more !== undefined && listing.isMoving?.(more) === true };
  };
  const kinds = listing.kinds as unknown as readonly Kind<KubeObject>[];
  const lists = (await Promise.all(kinds.map((kind) => listOrExplain(client, kind, signal)))) as unknown as Lists;
  if (!watch) return print((await render(lists)).text);
  const isTable = output.format === "table" || output.format === "wide";
  let last: string | undefined;
  await followLists(client, kinds, context, async (now) => {
    const { text, isMoving } = await render(now as unknown as Lists);
    if (text === last) return isMoving;
    if (isTable && isTerminal) print(`${CLEAR}${text}`);
    else print(isTable && last !== undefined ? `\n${text}` : text);
    last = text;
    return isMoving;
  });
}

function shownObject(object: KubeObject, silence: string | undefined, now: number): KubeObject {
  return object.kind === Site.kind ? silenced(object as Site, silence, now) : object;
}

/** Puts a terminal's cursor in the first corner, and takes away what is on the screen. */
const CLEAR = "\u001b[H\u001b[2J";
