import { execFile } from "node:child_process";
import { accessSync, constants, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ProcessToolMissing } from "./errors.ts";

const FOLDERS = ["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin", "/usr/local/sbin"];

/** Absolute path of a program, never by the PATH of a pod; undefined where this machine does not have it. */
export function findTool(name: string): string | undefined {
  return FOLDERS.map((folder) => join(folder, name)).find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

export function tool(name: string, action: string): string {
  const found = findTool(name);
  if (!found) throw new ProcessToolMissing({ action, tool: name });
  return found;
}

/** How a process gets a view of the file system of its own: as root, in a user namespace, or not at all. */
export type MountNamespace = "root" | "user" | "none";

/** Arguments of `unshare` for processes that end with the first of them: the kernel sees to it. */
export const CONTAINED = ["--pid", "--fork", "--kill-child"];

/** Arguments of `unshare` for each. In a user namespace the user stays who he is, with the capability to mount. */
export function unshareArguments(namespace: MountNamespace): string[] {
  if (namespace === "root") return ["--mount", "--uts"];
  if (namespace === "user") return ["--user", "--map-current-user", "--keep-caps", "--mount", "--uts"];
  return [];
}

/** Finds out by trying: what kernels, their settings and containers around us permit is not to be told otherwise. */
export async function detectMountNamespace(isRoot: boolean): Promise<MountNamespace> {
  const [unshare, mount, setpriv] = [findTool("unshare"), findTool("mount"), findTool("setpriv")];
  if (!unshare || !mount || !setpriv || !findTool("nsenter")) return "none";
  const candidates: MountNamespace[] = isRoot ? ["root", "user"] : ["user"];
  const folder = mkdtempSync(join(tmpdir(), "fjord-mount-"));
  try {
    for (const candidate of candidates) {
      const words = [...unshareArguments(candidate), mount, "-t", "tmpfs", "tmpfs", folder];
      if (await succeeds(unshare, words)) return candidate;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return "none";
}

function succeeds(file: string, words: readonly string[]): Promise<boolean> {
  return new Promise((resolve) => {
    execFile(file, [...words], { timeout: 10_000, env: {} }, (error) => resolve(error === null));
  });
}
