import { existsSync, readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

/** What a command of this repository writes that empties its folder first. */
export interface Output {
  /** As in `npm run build`. */
  readonly command: string;
  /** Where it goes unless somebody says otherwise, below the repository. */
  readonly usual: string;
  /** A file that only this command makes: a folder that has it is one of its own, and may be emptied. */
  readonly sign: string;
}

/**
 * The folder that the command was asked to write, or why it is refused. All that is in it will be deleted: a word that
 * was meant otherwise, such as `--help` or `.`, must not cost somebody their files.
 */
export function outputFolder(
  root: string,
  args: readonly string[],
  { command, usual, sign }: Output,
): { readonly folder: string } | { readonly usage: string } | { readonly refusal: string } {
  const usage = `usage: ${command} [-- FOLDER], which is ${usual} unless you say otherwise; all that is in it is replaced`;
  const [wanted, ...rest] = args;
  if (wanted === "--help" || wanted === "-h") return { usage };
  if (wanted === undefined) return { folder: join(root, usual) };
  if (wanted === "" || wanted.startsWith("-") || rest.length > 0) return { refusal: usage };
  const folder = resolve(root, wanted);
  if (!existsSync(folder) || existsSync(join(folder, sign))) return { folder };
  if (!statSync(folder).isDirectory()) return { refusal: `${folder} is no folder` };
  if (readdirSync(folder).length === 0) return { folder };
  return { refusal: `${folder} has files in it that \`${command}\` has not made: name an empty folder, or a new one` };
}

/** The same for a program, which ends where there is none. */
export function outputFolderOrEnd(root: string, output: Output): string {
  const answer = outputFolder(root, process.argv.slice(2), output);
  if ("folder" in answer) return answer.folder;
  if ("usage" in answer) {
    console.log(answer.usage);
    process.exit(0);
  }
  console.error(answer.refusal);
  process.exit(2);
}
