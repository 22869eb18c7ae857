import { ContextNotChosen, ContextUnknown, EntryUnknown } from "./errors.ts";
import type { Kubeconfig } from "./kubeconfig.ts";
import type { Section } from "./section.ts";
import { listed, suggestion } from "./suggestion.ts";

export interface ContextChoice {
  /** @default the current-context */
  readonly context?: string;
  /** Taken instead of the context's own. */
  readonly namespace?: string;
  /** Name of a user entry, taken instead of the context's own. */
  readonly user?: string;
  /** Name of a cluster entry, taken instead of the context's own. */
  readonly cluster?: string;
}

/** What a context comes down to. */
export interface ChosenContext {
  readonly cluster: Section;
  /** Absent: no credentials. */
  readonly user?: Section;
  readonly namespace: string;
}

/** Finds the entries of the context that is asked for, or of the current one. */
export function chooseContext(kubeconfig: Kubeconfig, choice: ContextChoice = {}): ChosenContext {
  const context = findContext(kubeconfig, choice);
  const cluster = named(choice.cluster, "the chosen cluster", context, "cluster", kubeconfig.clusters);
  const user = named(choice.user, "the chosen user", context, "user", kubeconfig.users);
  if (cluster === undefined) throw context?.wrong("cluster", "missing") ?? notChosen(kubeconfig);
  const namespace = choice.namespace ?? context?.string("namespace") ?? "default";
  return { cluster, namespace, ...(user === undefined ? {} : { user }) };
}

function findContext(kubeconfig: Kubeconfig, choice: ContextChoice): Section | undefined {
  const { currentContext, contexts } = kubeconfig;
  const name = choice.context ?? currentContext?.name;
  if (name === undefined) {
    if (choice.cluster !== undefined) return undefined;
    throw notChosen(kubeconfig);
  }
  const context = contexts.get(name);
  if (context !== undefined) return context;
  if (choice.context === undefined && currentContext !== undefined) {
    throw unknownEntry(`${currentContext.file}: current-context`, "context", name, contexts);
  }
  const known = listed(contexts.keys());
  throw new ContextUnknown({
    context: name,
    files: listed(kubeconfig.files),
    suggestion: suggestion(name, contexts.keys()),
    known,
  });
}

function named(
  chosen: string | undefined,
  chosenWhere: string,
  context: Section | undefined,
  entry: "cluster" | "user",
  entries: ReadonlyMap<string, Section>,
): Section | undefined {
  const name = chosen ?? context?.string(entry);
  if (name === undefined) return undefined;
  const found = entries.get(name);
  if (found !== undefined) return found;
  const where = chosen === undefined && context !== undefined ? context.where(entry) : chosenWhere;
  throw unknownEntry(where, entry, name, entries);
}

function unknownEntry(where: string, entry: string, name: string, entries: ReadonlyMap<string, Section>): Error {
  const known = listed(entries.keys());
  return new EntryUnknown({ where, entry, name, suggestion: suggestion(name, entries.keys()), known });
}

function notChosen(kubeconfig: Kubeconfig): Error {
  return new ContextNotChosen({ files: listed(kubeconfig.files), known: listed(kubeconfig.contexts.keys()) });
}
