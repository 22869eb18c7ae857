import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** Where the machine's own files are; another folder in tests, and where a container has the host's mounted. */
export interface MachineRoot {
  /** @default "/" */
  readonly root?: string;
}

/** The text of a file of the system; undefined where this machine does not have it or does not let it be read. */
export async function systemFile({ root = "/" }: MachineRoot, path: string): Promise<string | undefined> {
  try {
    return await readFile(join(root, path), "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (["ENOENT", "EACCES", "EPERM", "ENOTDIR", "EOPNOTSUPP", "EINVAL", "EIO"].includes(code ?? "")) return undefined;
    throw error;
  }
}

/** `Name: 123 kB` and `name 123` lines as numbers, in bytes where the file says kB. */
export function numbersOf(text: string | undefined): Map<string, number> {
  const numbers = new Map<string, number>();
  for (const line of text?.split("\n") ?? []) {
    const match = /^(\S+?):?\s+(\d+)(?:\s+(kB))?\s*$/.exec(line);
    if (match !== null) numbers.set(match[1] ?? "", Number(match[2]) * (match[3] === "kB" ? 1024 : 1));
  }
  return numbers;
}
