/** A map of a YAML file, read field by field; what is not as expected is named by where it is. */
export class Section {
  readonly #at: string;
  readonly #fields: Readonly<Record<string, unknown>>;

  constructor(at: string, value: unknown) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error(`${at} is not a map`);
    this.#at = at;
    this.#fields = value as Record<string, unknown>;
  }

  /** Refuses fields that nobody would read. */
  only(names: readonly string[]): void {
    const strange = Object.keys(this.#fields).find((name) => !names.includes(name));
    if (strange !== undefined) throw new Error(`${this.#at} has ${strange}, but may only have ${names.join(", ")}`);
  }

  count(name: string): number | undefined {
    const value = this.#fields[name];
    if (value === undefined) return undefined;
    if (Number.isInteger(value) && (value as number) >= 0) return value as number;
    throw new Error(`${name} of ${this.#at} is not a whole number`);
  }

  text(name: string): string | undefined {
    const value = this.#fields[name];
    if (value === undefined) return undefined;
    if (["string", "number", "boolean"].includes(typeof value)) return String(value);
    throw new Error(`${name} of ${this.#at} is not a text`);
  }

  section(name: string): Section | undefined {
    const value = this.#fields[name];
    return value === undefined ? undefined : new Section(`${name} of ${this.#at}`, value);
  }

  list(name: string): Section[] {
    const value = this.#fields[name] ?? [];
    if (!Array.isArray(value)) throw new Error(`${name} of ${this.#at} is not a list`);
    return value.map((item, index) => new Section(`${name}[${index}]`, item));
  }

  words(name: string): string[] | undefined {
    const value = this.#fields[name];
    if (value === undefined) return undefined;
    if (!Array.isArray(value)) throw new Error(`${name} of ${this.#at} is not a list`);
    return value.map(String);
  }

  texts(name: string): Record<string, string> | undefined {
    const section = this.section(name);
    if (section === undefined) return undefined;
    return Object.fromEntries(Object.keys(section.#fields).map((key) => [key, section.text(key) ?? ""]));
  }
}
