import { InvalidValue } from "../errors.ts";

/** The namespace that is meant, as a word of its own or by `-n`. */
export function namespaceOf(word: string | undefined, flags: { readonly namespace?: string }): string {
  const named = word ?? flags.namespace;
  if (named === undefined)
    throw new InvalidValue({ option: "the namespace", value: "left out", reason: "say which one is meant" });
  if (flags.namespace !== undefined && flags.namespace !== named)
    throw new InvalidValue({ option: "--namespace", value: flags.namespace, reason: `${named} is named too` });
  return named;
}
