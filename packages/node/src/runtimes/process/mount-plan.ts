import { lstatSync, readdirSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { Mount } from "../../runtime/configuration.ts";
import { ProcessContainerUnfit } from "./errors.ts";
import { ifThere } from "./files.ts";
import { quote } from "./shell.ts";

/** A mount of the machine, as /proc/self/mountinfo tells. */
export interface HostMount {
  readonly path: string;
  readonly options: readonly string[];
  readonly type: string;
}

export interface MountPlanOptions {
  readonly container: string;
  readonly mounts: readonly Mount[];
  /** A directory of the container's own to build in. */
  readonly stage: string;
  readonly readOnlyRoot: boolean;
  readonly hostMounts: readonly HostMount[];
}

/** How a view of the machine's files with the pod's volumes in it is made inside a mount namespace. */
export interface MountPlan {
  /** To be made beforehand, in this order: below the stage, and in volumes that others are mounted in. */
  readonly make: readonly MadeEntry[];
  /** Shell commands, in their order; `$tables` is the folder of the tables. */
  readonly commands: readonly string[];
  /** In the format of fstab, by their names. */
  readonly tables: Readonly<Record<string, string>>;
  /** Where the new root was built; absent where the old one stays. */
  readonly root?: string;
}

/** A directory, a link where it has a target, or else an empty file. */
export interface MadeEntry {
  readonly path: string;
  readonly directory: boolean;
  readonly mode?: number;
  readonly target?: string;
}

/** Entries of one directory that needs an entry it does not have on the machine. */
interface Skeleton {
  readonly path: string;
  readonly stage: string;
  readonly directories: Set<string>;
  readonly files: Set<string>;
}

/** More entries than this are too many to be mounted one by one. */
const MOST_ENTRIES = 4096;
/** Flags that a mount in a user namespace can not lose. */
const LOCKED = new Set(["nosuid", "nodev", "noexec", "noatime", "nodiratime", "relatime"]);
/** The machine's screens: no business of a pod, and most of what is in /dev. */
const CONSOLES = /^(tty\d+|vcs[au]?\d*)$/;
const KERNEL_TYPES = new Set(["proc", "sysfs", "devtmpfs", "devpts", "mqueue", "cgroup", "cgroup2", "securityfs"]);

/**
 * Mount points that the machine has are mounted on. For those it lacks, the nearest directory that is there is built anew:
 * an empty one with everything of that directory mounted into it, and the mount point beside. The machine's own files never
 * change.
 */
export function planMounts(options: MountPlanOptions): MountPlan {
  const mounts = options.mounts
    .map((mount) => ({ ...mount, containerPath: tidy(mount.containerPath) }))
    .sort((one, other) => depth(one.containerPath) - depth(other.containerPath));
  const make: MadeEntry[] = [];
  const skeletons = new Map<string, Skeleton>();
  const targets: { mount: Mount; path: string }[] = [];

  for (const [index, mount] of mounts.entries()) {
    const directory = isDirectory(mount.hostPath, options.container);
    const outer = mounts.slice(0, index).findLast((other) => isBelow(mount.containerPath, other.containerPath));
    if (outer) {
      const inner = relative(outer.containerPath, mount.containerPath);
      const path = join(outer.hostPath, inner);
      if (!ifThere(() => statSync(path))) make.push({ path: dirname(path), directory: true }, { path, directory });
      targets.push({ mount, path: join(resolveTarget(outer.containerPath).full, inner) });
      continue;
    }
    const target = resolveTarget(mount.containerPath);
    targets.push({ mount, path: target.full });
    if (target.missing.length === 0) {
      if (isDirectory(target.full, options.container) !== directory) {
        const reason = `${mount.containerPath} is a ${directory ? "file" : "directory"} on this machine, and what is to be mounted there is not`;
        throw new ProcessContainerUnfit({ name: options.container, reason });
      }
      continue;
    }
    if (/^\/(proc|sys)(\/|$)/.test(target.existing)) {
      const reason = `nothing can be mounted at ${mount.containerPath}, which ${target.existing} does not have`;
      throw new ProcessContainerUnfit({ name: options.container, reason });
    }
    let skeleton = skeletons.get(target.existing);
    if (!skeleton) {
      const stage = join(options.stage, String(skeletons.size));
      skeleton = { path: target.existing, stage, directories: new Set(), files: new Set() };
      skeletons.set(target.existing, skeleton);
    }
    const leaf = join(skeleton.stage, ...target.missing);
    if (directory) skeleton.directories.add(leaf);
    else {
      skeleton.directories.add(dirname(leaf));
      skeleton.files.add(leaf);
    }
  }
  const plan = writePlan(options, [...skeletons.values()], targets);
  return { ...plan, make: [...plan.make, ...make] };
}

function writePlan(
  options: MountPlanOptions,
  skeletons: readonly Skeleton[],
  targets: readonly { mount: Mount; path: string }[],
): MountPlan {
  const inOrder = [...skeletons].sort((one, other) => depth(one.path) - depth(other.path));
  const root = inOrder.find((skeleton) => skeleton.path === "/")?.stage;
  const inRoot = (path: string) => (root === undefined ? path : join(root, path));
  const make: MadeEntry[] = [];
  const volumes: string[] = [];
  const lines: string[] = [];
  const commands: string[] = [];

  if (root) lines.push(line(root, root, ["bind"]));
  for (const skeleton of inOrder) {
    make.push({ path: skeleton.stage, directory: true, mode: lstatSync(skeleton.path).mode & 0o7777 });
    for (const path of skeleton.directories) make.push({ path, directory: true });
    for (const path of skeleton.files) make.push({ path, directory: false });
    for (const { source, entry } of entriesOf(skeleton, options.container)) {
      make.push(entry);
      // It may go away before it is mounted, as files in /tmp do.
      if (entry.target === undefined)
        lines.push(line(source, entry.path, [entry.directory ? "rbind" : "bind", "nofail"]));
    }
  }
  for (const skeleton of inOrder) {
    if (skeleton.path !== "/") lines.push(line(skeleton.stage, inRoot(skeleton.path), ["rbind"]));
  }
  for (const [index, { mount, path }] of targets.entries()) {
    const directory = isDirectory(mount.hostPath, options.container);
    const kind = directory ? "rbind" : "bind";
    let source = mount.hostPath;
    if (options.readOnlyRoot) {
      // Mounted aside while the machine's files can still be written to; a mount has that from where it was taken.
      source = join(options.stage, `volume-${index}`);
      make.push({ path: source, directory });
      volumes.push(line(mount.hostPath, source, [kind]));
    }
    const flags = mount.readOnly ? [kind, "ro", ...lockedFlags(mount.hostPath, options.hostMounts)] : [kind];
    lines.push(line(source, inRoot(path), flags));
  }

  if (volumes.length > 0) commands.push('"$mount" -a -T "$tables/volumes"');
  if (options.readOnlyRoot) commands.push(...readOnlyCommands(options.hostMounts));
  if (lines.length > 0) commands.push('"$mount" -a -T "$tables/mounts"');
  if (options.readOnlyRoot) for (const skeleton of inOrder) commands.push(remount(inRoot(skeleton.path), []));
  const tables = { volumes: volumes.join(""), mounts: lines.join("") };
  return { make, commands, tables, ...(root === undefined ? {} : { root }) };
}

function entriesOf(skeleton: Skeleton, container: string): { source: string; entry: MadeEntry }[] {
  const all = readdirSync(skeleton.path, { withFileTypes: true });
  if (all.length > MOST_ENTRIES) {
    const reason = `a mount point is missing in ${skeleton.path}, which has too many entries to be built anew`;
    throw new ProcessContainerUnfit({ name: container, reason });
  }
  return all.flatMap((found) => {
    if (skeleton.path === "/dev" && CONSOLES.test(found.name)) return [];
    const source = join(skeleton.path, found.name);
    const path = join(skeleton.stage, found.name);
    if (!found.isSymbolicLink()) return [{ source, entry: { path, directory: found.isDirectory() } }];
    const target = ifThere(() => readlinkSync(source));
    return target === undefined ? [] : [{ source, entry: { path, directory: false, target } }];
  });
}

/** What the machine has mounted, except what the kernel shows there. */
function readOnlyCommands(mounts: readonly HostMount[]): string[] {
  const writable = mounts.filter((mount) => !KERNEL_TYPES.has(mount.type) && mount.path !== "/dev/shm");
  const paths = new Map(writable.map((mount) => [mount.path, mount.options.filter((flag) => LOCKED.has(flag))]));
  // What was unmounted meanwhile, or is not to be reached by this user, needs none.
  return [...paths].map(([path, flags]) => `${remount(path, flags)} || ! "$mountpoint" -q ${quote(path)}`);
}

function remount(path: string, flags: readonly string[]): string {
  return `"$mount" -o ${["remount", "bind", "ro", ...flags].join(",")} ${quote(path)}`;
}

/** The path with links resolved as far as it exists. */
function resolveTarget(path: string): { existing: string; missing: string[]; full: string } {
  const missing: string[] = [];
  let at = path;
  for (;;) {
    const existing = ifThere(() => realpathSync(at));
    if (existing !== undefined) return { existing, missing, full: join(existing, ...missing) };
    missing.unshift(at.slice(at.lastIndexOf("/") + 1));
    at = dirname(at);
  }
}

function lockedFlags(path: string, mounts: readonly HostMount[]): string[] {
  const real = ifThere(() => realpathSync(path)) ?? path;
  let best: HostMount | undefined;
  for (const mount of mounts) {
    const inside = mount.path === "/" || real === mount.path || isBelow(real, mount.path);
    if (inside && (!best || mount.path.length >= best.path.length)) best = mount;
  }
  return best?.options.filter((flag) => LOCKED.has(flag)) ?? [];
}

export function parseMountInfo(text: string): HostMount[] {
  return text
    .split("\n")
    .filter((each) => each !== "")
    .map((each) => {
      const [before = "", after = ""] = each.split(" - ");
      const fields = before.split(" ");
      const path = (fields[4] ?? "").replace(/\\([0-7]{3})/g, (_, code: string) =>
        String.fromCharCode(Number.parseInt(code, 8)),
      );
      return { path, options: (fields[5] ?? "").split(","), type: after.split(" ")[0] ?? "" };
    });
}

function line(source: string, target: string, flags: readonly string[]): string {
  return `${escaped(source)} ${escaped(target)} none ${flags.join(",")} 0 0\n`;
}

function escaped(path: string): string {
  return path.replace(/[\s\\#]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, "0")}`);
}

function isDirectory(path: string, container: string): boolean {
  const found = ifThere(() => statSync(path));
  if (!found)
    throw new ProcessContainerUnfit({ name: container, reason: `${path}, which is to be mounted, is not there` });
  return found.isDirectory();
}

function tidy(path: string): string {
  return join("/", path).replace(/(.)\/$/, "$1");
}

function depth(path: string): number {
  return path === "/" ? 0 : path.split("/").length;
}

function isBelow(path: string, folder: string): boolean {
  return path !== folder && path.startsWith(folder === "/" ? "/" : `${folder}/`);
}
