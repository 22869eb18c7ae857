import { parseQuantity } from "@fjord/kube";
import { parseTaint, type Taint } from "../../registration/taints.ts";
import type { Section } from "./section.ts";
import { readDuration } from "./values.ts";

/** Something that befalls a node: when, counted from its start, and for how long. */
export interface Spell {
  readonly afterMs: number;
  readonly forMs: number;
}

/** What nodes of a fleet are like, and what befalls them. */
export interface NodeRule {
  /** Names, in which `*` stands for anything; absent: all. */
  readonly names?: readonly string[];
  readonly capacity: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  /** It says of itself that it is not ready. */
  readonly notReady?: Spell;
  /** Nothing is heard of it: no lease, no status. */
  readonly away?: Spell;
}

export function readNodeRule(section: Section): NodeRule {
  section.only(["names", "capacity", "labels", "taints", "notReady", "away"]);
  const capacity = section.texts("capacity") ?? {};
  for (const amount of Object.values(capacity)) parseQuantity(amount);
  const names = section.words("names");
  const notReady = readSpell(section.section("notReady"));
  const away = readSpell(section.section("away"));
  return {
    ...(names && { names }),
    capacity,
    labels: section.texts("labels") ?? {},
    taints: (section.words("taints") ?? []).map(parseTaint),
    ...(notReady && { notReady }),
    ...(away && { away }),
  };
}

function readSpell(section: Section | undefined): Spell | undefined {
  if (section === undefined) return undefined;
  section.only(["after", "for"]);
  return { afterMs: time(section, "after", "0s"), forMs: time(section, "for", "never") };
}

function time(section: Section, name: string, otherwise: string): number {
  const text = section.text(name) ?? otherwise;
  const ms = readDuration(text);
  if (ms === undefined) throw new Error(`${name}: ${JSON.stringify(text)} is not a time such as 30s`);
  return ms;
}
