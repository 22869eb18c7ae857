import type { KubeObject } from "@fjord/base";
import { jsonPath } from "@fjord/kube";
import { type Command, InvalidArgumentError, Option } from "commander";
import { escaped, shown } from "./terminal-text.ts";

/** How a listing is printed: a table, or something that scripts read. */
export type Output =
  | { readonly format: "table" | "wide" | "json" | "yaml" | "name" }
  | { readonly format: "jsonpath"; readonly print: (value: unknown) => string };

const FORMATS = ["wide", "json", "yaml", "name"] as const;
type Format = (typeof FORMATS)[number];
const TABLE: Output = { format: "table" };

/** `-o`, as kubectl has it. What is no list of objects has neither names nor more columns: `formats` says what there is. */
export function outputOption(
  command: Command,
  formats: readonly Format[] = FORMATS,
  otherwise: "a table" | "text" = "a table",
): Command {
  return command.addOption(
    new Option("-o, --output <format>", `instead of ${otherwise}: ${formats.join(", ")} or jsonpath=TEMPLATE`)
      .default(TABLE, otherwise)
      .argParser((text) => readOutput(text, formats)),
  );
}

export function readOutput(text: string, formats: readonly Format[] = FORMATS): Output {
  const template = /^jsonpath(?:=(.*))?$/s.exec(text);
  if (template?.[1]) return { format: "jsonpath", print: jsonPath(template[1]) };
  if (template !== null)
    throw new InvalidArgumentError("There is no template: jsonpath='{.items[*].metadata.name}' has one.");
  const format = formats.find((each) => each === text);
  if (format === undefined) throw new InvalidArgumentError(`It is one of ${formats.join(", ")}, jsonpath=TEMPLATE.`);
  return { format };
}

/**
 * A value in a format that scripts read; undefined where a table or names are asked for. What a template gives goes as it is into a pipe,
 * and without what would steer it to a terminal.
 */
export async function formatValue(value: unknown, output: Output, isTerminal: boolean): Promise<string | undefined> {
  switch (output.format) {
    case "json":
      return `${escaped(JSON.stringify(value, undefined, 2))}\n`;
    case "yaml": {
      const { stringify } = await import("yaml");
      const text = stringify(value);
      // Only what is quoted can have escapes.
      const quoted = { defaultStringType: "QUOTE_DOUBLE", defaultKeyType: "PLAIN" } as const;
      return escaped(text) === text ? text : escaped(stringify(value, quoted));
    }
    case "jsonpath":
      return isTerminal ? shown(output.print(value)) : output.print(value);
    default:
      return undefined;
  }
}

/** Several objects, or the one that was asked for by its name. */
export function whole(objects: readonly KubeObject[], isOne: boolean): unknown {
  return isOne ? objects[0] : { apiVersion: "v1", kind: "List", items: objects };
}

/** `site.fjord.dev/lively-wave`, a word for each as kubectl prints them: of what is in a namespace it says no more either. */
export function nameLines(objects: readonly KubeObject[]): string {
  return objects
    .map(({ apiVersion, kind, metadata }) => {
      const [group = ""] = apiVersion.includes("/") ? apiVersion.split("/") : [];
      const type = [kind.toLowerCase(), group].filter((each) => each !== "").join(".");
      return `${type}/${metadata.name}\n`;
    })
    .join("");
}
