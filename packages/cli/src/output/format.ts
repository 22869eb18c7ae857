import type { KubeObject } from "@fjord/base";
import { type Command, Option } from "commander";

export type OutputFormat = "wide" | "json" | "yaml" | "name";

export function outputOption(command: Command): Command {
  return command.addOption(
    new Option("-o, --output <format>", "instead of a table").choices(["wide", "json", "yaml", "name"]),
  );
}

/** Objects in a format that scripts read; undefined where a table is asked for. */
export async function formatObjects(
  objects: readonly KubeObject[],
  format: OutputFormat | undefined,
  plural: (object: KubeObject) => string,
): Promise<string | undefined> {
  if (format === undefined || format === "wide") return undefined;
  if (format === "name") return objects.map((object) => `${plural(object)}/${object.metadata.name}\n`).join("");
  const whole = objects.length === 1 ? objects[0] : { apiVersion: "v1", kind: "List", items: objects };
  if (format === "json") return `${JSON.stringify(whole, undefined, 2)}\n`;
  const { stringify } = await import("yaml");
  return stringify(whole);
}
