import { dirname, resolve } from "node:path";
import { KubeconfigField } from "./errors.ts";

/**
 * One mapping in a kubeconfig file that knows where it stands, so that every complaint names file and field. Fields are
 * checked when they are read: an entry that nobody uses may be wrong.
 */
export class Section {
  readonly file: string;
  readonly path: string;
  readonly #values: Readonly<Record<string, unknown>>;

  constructor(file: string, path: string, values: Readonly<Record<string, unknown>>) {
    this.file = file;
    this.path = path;
    this.#values = values;
  }

  /** The value as it was written, unchecked. */
  raw(name: string): unknown {
    return this.#values[name] ?? undefined;
  }

  /** Absent and empty are the same, as for kubectl. */
  string(name: string): string | undefined {
    return this.#typed(name, "a string", (value): value is string => typeof value === "string") || undefined;
  }

  boolean(name: string): boolean {
    return this.#typed(name, "true or false", (value) => typeof value === "boolean") ?? false;
  }

  strings(name: string): string[] {
    const isStrings = (value: unknown): value is string[] =>
      Array.isArray(value) && value.every((item) => typeof item === "string");
    return this.#typed(name, "a list of strings", isStrings) ?? [];
  }

  section(name: string): Section | undefined {
    const value = this.#typed(name, "a mapping", isMapping);
    return value === undefined ? undefined : new Section(this.file, this.field(name), value);
  }

  sections(name: string): Section[] {
    const items = this.#typed(name, "a list", (value): value is unknown[] => Array.isArray(value)) ?? [];
    return items.map((item, index) => {
      const path = `${this.field(name)}[${index}]`;
      if (!isMapping(item))
        throw new KubeconfigField({ file: this.file, field: path, problem: expected("a mapping", item) });
      return new Section(this.file, path, item);
    });
  }

  /** A path that was written in this file, and so is relative to the file's directory. */
  filePath(name: string): string | undefined {
    const path = this.string(name);
    return path === undefined ? undefined : resolve(dirname(this.file), path);
  }

  field(name: string): string {
    return this.path === "" ? name : `${this.path}.${name}`;
  }

  /** `/home/x/.kube/config: users[2].user.token`, for messages. */
  where(name: string): string {
    return `${this.file}: ${this.field(name)}`;
  }

  wrong(name: string, problem: string, options?: ErrorOptions): Error {
    return new KubeconfigField({ file: this.file, field: this.field(name), problem }, options);
  }

  #typed<T>(name: string, what: string, is: (value: unknown) => value is T): T | undefined {
    const value = this.raw(name);
    if (value === undefined) return undefined;
    if (!is(value)) throw this.wrong(name, expected(what, value));
    return value;
  }
}

export function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// The type and never the value: it may be a secret.
function expected(what: string, value: unknown): string {
  if (Array.isArray(value)) {
    const odd = value.findIndex((item) => typeof item !== "string");
    return what === "a list of strings" && odd >= 0
      ? `expected ${what}, got ${typeName(value[odd])} at position ${odd}`
      : `expected ${what}, got a list`;
  }
  return `expected ${what}, got ${typeName(value)}`;
}

function typeName(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return (
    { number: "a number", boolean: "a boolean", string: "a string", object: "a mapping" }[typeof value as string] ??
    typeof value
  );
}
