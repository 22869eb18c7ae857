import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** All control groups below a path, of one controller or of all. */
export function groupsOf(path: string, controller?: string): string[] {
  const mounts = readFileSync("/proc/self/mounts", "utf8")
    .split("\n")
    .map((line) => line.split(" "))
    .filter(([, , type]) => type === "cgroup" || type === "cgroup2");
  const wanted = mounts.filter(
    ([, , type, flags]) => type === "cgroup" && flags?.split(",").includes(controller ?? ""),
  );
  return (wanted.length > 0 ? wanted : mounts).flatMap(([, mount = ""]) => below(join(mount, path)));
}

function below(root: string): string[] {
  if (!existsSync(root)) return [];
  try {
    return readdirSync(root, { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => join(entry.parentPath, entry.name));
  } catch (error) {
    // One that went while it was read.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return below(root);
    throw error;
  }
}
