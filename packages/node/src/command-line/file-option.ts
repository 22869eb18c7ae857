import { readFile } from "node:fs/promises";
import { InvalidNodeOption } from "./errors.ts";

/** The text of a file that an option names; an error tells which option it was. */
export async function fileOption(option: string, file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    throw new InvalidNodeOption({ option, value: file, reason: "cannot be read" }, { cause });
  }
}
