import type { Document, LineCounter, YAMLError } from "yaml";
import { KubeconfigSyntax, KubeconfigUnreadable } from "./errors.ts";
import { readTextFile } from "./read-text-file.ts";
import { isMapping, Section } from "./section.ts";
import { systemReason } from "./system-reason.ts";

/** One kubeconfig file, or several merged: named entries, each knowing the file it came from. */
export interface Kubeconfig {
  readonly files: readonly string[];
  readonly currentContext?: { readonly name: string; readonly file: string };
  readonly clusters: ReadonlyMap<string, Section>;
  readonly users: ReadonlyMap<string, Section>;
  readonly contexts: ReadonlyMap<string, Section>;
}

/** Reads YAML or JSON. `file` is named in errors, and relative paths in the text start from its directory. */
export async function parseKubeconfig(text: string, file: string): Promise<Kubeconfig> {
  const root = new Section(file, "", await parseMapping(text, file));
  for (const [name, value] of [
    ["apiVersion", "v1"],
    ["kind", "Config"],
  ] as const) {
    const found = root.string(name);
    if (found !== undefined && found !== value) throw root.wrong(name, `expected ${value}, got ${found}`);
  }
  const current = root.string("current-context");
  return {
    files: [file],
    ...(current === undefined ? {} : { currentContext: { name: current, file } }),
    clusters: namedEntries(root, "clusters", "cluster"),
    users: namedEntries(root, "users", "user"),
    contexts: namedEntries(root, "contexts", "context"),
  };
}

/** kubectl's rules: the first file that has an entry of a name, or sets current-context, wins; entries are never mixed. */
export function mergeKubeconfigs(kubeconfigs: readonly Kubeconfig[]): Kubeconfig {
  const current = kubeconfigs.find((one) => one.currentContext !== undefined)?.currentContext;
  return {
    files: kubeconfigs.flatMap((one) => one.files),
    ...(current === undefined ? {} : { currentContext: current }),
    clusters: firstOfEachName(kubeconfigs.map((one) => one.clusters)),
    users: firstOfEachName(kubeconfigs.map((one) => one.users)),
    contexts: firstOfEachName(kubeconfigs.map((one) => one.contexts)),
  };
}

/** Reads and merges files, the most important first. Missing ones are an error unless `ignoreMissing`. */
export async function readKubeconfigs(
  paths: readonly string[],
  options: { ignoreMissing?: boolean } = {},
): Promise<Kubeconfig> {
  const kubeconfigs: Kubeconfig[] = [];
  for (const path of paths) {
    const text = await readText(path, options.ignoreMissing ?? false);
    if (text !== undefined) kubeconfigs.push(await parseKubeconfig(text, path));
  }
  return mergeKubeconfigs(kubeconfigs);
}

/** Nothing in it: what kubectl treats like no file at all. */
export function isEmptyKubeconfig(kubeconfig: Kubeconfig): boolean {
  const { currentContext, clusters, users, contexts } = kubeconfig;
  return currentContext === undefined && clusters.size + users.size + contexts.size === 0;
}

function firstOfEachName(maps: readonly ReadonlyMap<string, Section>[]): Map<string, Section> {
  const first = new Map<string, Section>();
  for (const [name, section] of maps.flatMap((map) => [...map])) {
    if (!first.has(name)) first.set(name, section);
  }
  return first;
}

async function readText(path: string, ignoreMissing: boolean): Promise<string | undefined> {
  try {
    return await readTextFile(path);
  } catch (error) {
    if (ignoreMissing && (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new KubeconfigUnreadable({ file: path, reason: systemReason(error) }, { cause: error });
  }
}

async function parseMapping(text: string, file: string): Promise<Record<string, unknown>> {
  const json = jsonMapping(text);
  if (json !== undefined) return json;
  // Loaded here and not before: it takes 13 MB, and a process in a cluster never needs it.
  const { LineCounter, parseDocument } = await import("yaml");
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, merge: true });
  const [error] = document.errors;
  if (error !== undefined) throw syntaxError(file, error, lines);
  const value = plainValue(document, file) ?? {};
  if (isMapping(value)) return value;
  throw new KubeconfigSyntax({
    file,
    line: 1,
    column: 1,
    problem: "a kubeconfig is a mapping, this is something else",
  });
}

/** What is JSON is YAML too; whatever is wrong with it is for the other parser to say. */
function jsonMapping(text: string): Record<string, unknown> | undefined {
  if (!text.trimStart().startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isMapping(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function plainValue(document: Document, file: string): unknown {
  try {
    return document.toJS();
  } catch (error) {
    throw new KubeconfigSyntax(
      { file, line: 1, column: 1, problem: "too many or unresolved aliases" },
      { cause: error },
    );
  }
}

const syntaxProblems: Partial<Record<YAMLError["code"], string>> = {
  BAD_ALIAS: "an alias without its anchor",
  BAD_DQ_ESCAPE: "a wrong escape in a quoted string",
  BAD_INDENT: "wrong indentation, or a bracket that is not closed",
  BAD_SCALAR_START: "a value starts with a character that must be quoted",
  BLOCK_AS_IMPLICIT_KEY: "a mapping inside a value on one line (quote values that hold a colon)",
  DUPLICATE_KEY: "the same key twice in one mapping",
  MISSING_CHAR: "wrong indentation, or a quote, bracket, comma or colon is missing",
  MULTILINE_IMPLICIT_KEY: "a line without its colon",
  MULTIPLE_DOCS: "more than one document in the file",
  TAB_AS_INDENT: "a tab in the indentation",
  UNEXPECTED_TOKEN: "unexpected text",
};

// The library's own messages may quote the source, and so a secret.
function syntaxError(file: string, error: YAMLError, lines: LineCounter): Error {
  const { line, col } = lines.linePos(error.pos[0]);
  const problem = syntaxProblems[error.code] ?? error.code.toLowerCase().replaceAll("_", " ");
  return new KubeconfigSyntax({ file, line, column: col, problem });
}

function namedEntries(root: Section, list: string, entry: string): Map<string, Section> {
  const entries = new Map<string, Section>();
  for (const item of root.sections(list)) {
    const name = item.string("name");
    if (name === undefined) throw item.wrong("name", "missing");
    if (entries.has(name)) throw item.wrong("name", `there is already an entry "${name}" in this list`);
    entries.set(name, item.section(entry) ?? new Section(item.file, item.field(entry), {}));
  }
  return entries;
}
