import { join } from "node:path";
import type { SiteLayout } from "../site-layout.ts";

/** The processes of a node, in the order in which they start. The first holds its namespaces; not every node has the last two. */
export const nodeProcesses = ["namespaces", "containerd", "kubelet", "kube-proxy", "kube-router"] as const;

export type NodeProcess = (typeof nodeProcesses)[number];

/** What a node's process is called among those of its site. */
export function nodeProcessName(index: number, name: NodeProcess): string {
  return `node-${index}-${name}`;
}

/** A process as far as it tells which node it belongs to. */
interface Named {
  readonly name: string;
  readonly record: { readonly site: string };
}

/** The name of the node that a process is of; undefined for one of no node. */
export function nodeOf({ name, record }: Named): string | undefined {
  const match = /^node-(\d+)-/.exec(name);
  return match === null ? undefined : `${record.site}-node-${match[1]}`;
}

/**
 * The selected ones of all processes, and with the one that holds a node's namespaces every other of that node: they
 * are in the old namespaces, and end when the new ones begin.
 */
export function withWholeNodes<T extends Named>(selected: readonly T[], all: readonly T[]): T[] {
  const whole = new Set(selected.filter(({ name }) => name.endsWith("-namespaces")).map(nodeOf));
  whole.delete(undefined);
  return all.filter((process) => selected.includes(process) || whole.has(nodeOf(process)));
}

/** Where everything of a node is kept. */
export function nodeDirectory(layout: Pick<SiteLayout, "directory">, node: string): string {
  return join(layout.directory, "nodes", node);
}
