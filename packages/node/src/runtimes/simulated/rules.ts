import { describeError } from "@fjord/base";
import type { Pod } from "@fjord/kube";
import { InvalidRules } from "./errors.ts";
import { type NodeRule, readNodeRule } from "./node-rule.ts";
import { Section } from "./section.ts";
import { checkSettings, Settings, type SettingTexts, settingsIn } from "./settings.ts";

/** Which pods a rule is for: those for whom all that it says holds. */
export interface PodRule {
  /** Names, in which `*` stands for anything. */
  readonly namespaces?: readonly string[];
  readonly nodes?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  /** Kinds of owners, such as `Job`. */
  readonly owners?: readonly string[];
  readonly settings: SettingTexts;
}

export interface Rules {
  readonly pods: readonly PodRule[];
  readonly nodes: readonly NodeRule[];
  /** How many nodes a fleet has, where the file says so. */
  readonly nodeCount?: number;
}

export const noRules: Rules = { pods: [], nodes: [] };

/** What a pod was told by rules, the later over the earlier, and by its annotations over all of them. */
export function settingsOf(pod: Pod, rules: readonly PodRule[]): Settings {
  const own = settingsIn(pod.metadata.annotations);
  if (own === undefined && rules.length === 0) return Settings.none;
  const layers = rules.filter((rule) => isFor(rule, pod)).map(({ settings }) => settings);
  return new Settings(own === undefined ? layers : [...layers, own]);
}

/** Why the simulation cannot do what the pod's annotations ask for; empty where it can. */
export function settingObjections(pod: Pod): string[] {
  try {
    checkSettings(settingsIn(pod.metadata.annotations) ?? {});
    return [];
  } catch (error) {
    return [describeError(error)];
  }
}

/** Reads a file of rules, in YAML. */
export async function parseRules(text: string, file: string): Promise<Rules> {
  const { parse } = await import("yaml");
  try {
    const top = new Section("the file", parse(text) ?? {});
    top.only(["nodeCount", "pods", "nodes"]);
    const nodeCount = top.count("nodeCount");
    return {
      pods: top.list("pods").map(readPodRule),
      nodes: top.list("nodes").map(readNodeRule),
      ...(nodeCount !== undefined && { nodeCount }),
    };
  } catch (error) {
    throw new InvalidRules({ file, problem: describeError(error) }, { cause: error });
  }
}

function readPodRule(section: Section): PodRule {
  section.only(["namespaces", "nodes", "labels", "owners", "settings"]);
  const settings = section.texts("settings") ?? {};
  checkSettings(settings);
  const namespaces = section.words("namespaces");
  const nodes = section.words("nodes");
  const labels = section.texts("labels");
  const owners = section.words("owners");
  return {
    settings,
    ...(namespaces && { namespaces }),
    ...(nodes && { nodes }),
    ...(labels && { labels }),
    ...(owners && { owners }),
  };
}

function isFor(rule: PodRule, { metadata, spec }: Pod): boolean {
  const { namespaces, nodes, labels, owners } = rule;
  if (namespaces && !matchesAny(namespaces, metadata.namespace ?? "")) return false;
  if (nodes && !matchesAny(nodes, spec?.nodeName ?? "")) return false;
  if (labels && !Object.entries(labels).every(([name, value]) => metadata.labels?.[name] === value)) return false;
  return owners === undefined || (metadata.ownerReferences ?? []).some(({ kind }) => owners.includes(kind));
}

/** Whether one of the patterns is the name; `*` in them stands for anything. */
export function matchesAny(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => {
    const [first = "", ...rest] = pattern.split("*");
    if (rest.length === 0) return pattern === name;
    if (!name.startsWith(first)) return false;
    const last = rest.pop() ?? "";
    let at = first.length;
    for (const part of rest) {
      const found = name.indexOf(part, at);
      if (found === -1) return false;
      at = found + part.length;
    }
    return name.length - last.length >= at && name.endsWith(last);
  });
}
