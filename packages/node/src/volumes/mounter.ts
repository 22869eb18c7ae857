import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { type FileHandle, readFile, realpath } from "node:fs/promises";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Mounts file systems. Only where the node may: without one, volumes are plain directories. */
export interface Mounter {
  tmpfs(directory: string, options: TmpfsOptions): Promise<void>;
  /** Mounts what is open, whatever its path leads to by now. */
  bind(source: FileHandle, target: string): Promise<void>;
  /** Lets whoever has a directory mounted see what is mounted below it later, as far as they want to. */
  share(directory: string): Promise<void>;
  unmount(path: string): Promise<void>;
  /** Everything that is mounted at or below a path, in the order in which it must be unmounted. */
  mountsBelow(path: string): Promise<string[]>;
}

export interface TmpfsOptions {
  /** Half of the machine's memory where absent. */
  readonly sizeBytes?: number | undefined;
  readonly mode: number;
  readonly group?: number | undefined;
}

/** Mounts by the system's own commands, which know what this kernel wants. */
export class SystemMounter implements Mounter {
  /** Keeps secrets off the disk; kernels before 6.4 do not know it. */
  #noswap = true;

  async tmpfs(directory: string, { sizeBytes, mode, group }: TmpfsOptions): Promise<void> {
    const options = [`mode=${mode.toString(8)}`];
    if (sizeBytes !== undefined) options.push(`size=${sizeBytes}`);
    if (group !== undefined) options.push(`gid=${group}`);
    const mount = (all: string[]) => run("mount", ["-t", "tmpfs", "-o", all.join(","), "tmpfs", directory]);
    if (!this.#noswap) await mount(options);
    else {
      try {
        await mount([...options, "noswap"]);
      } catch {
        await mount(options);
        this.#noswap = false;
      }
    }
  }

  async bind(source: FileHandle, target: string): Promise<void> {
    await run("mount", ["--no-canonicalize", "--bind", `/proc/${process.pid}/fd/${source.fd}`, target]);
  }

  async share(directory: string): Promise<void> {
    const real = await realpath(directory);
    const mount = mountOf(await readFile("/proc/self/mountinfo", "utf8"), real);
    if (mount?.isShared) return;
    // The mount that it is part of may be the machine's root, which is not ours to change.
    if (mount?.point !== real) await run("mount", ["--no-canonicalize", "--bind", real, real]);
    await run("mount", ["--no-canonicalize", "--make-shared", real]);
  }

  async unmount(path: string): Promise<void> {
    try {
      await run("umount", ["--no-canonicalize", path]);
    } catch {
      // Something still uses it: it goes away now, and its memory when that has ended.
      await run("umount", ["--no-canonicalize", "--lazy", path]);
    }
  }

  async mountsBelow(path: string): Promise<string[]> {
    return mountPointsBelow(await readFile("/proc/self/mountinfo", "utf8"), path);
  }
}

/** The mount points at or below a path in the kernel's table, the last mounted first. */
export function mountPointsBelow(table: string, path: string): string[] {
  const points = mountsIn(table).map(({ point }) => point);
  return points.filter((point) => isBelow(point, path)).reverse();
}

interface MountEntry {
  readonly point: string;
  readonly isShared: boolean;
}

/** The mount that a path is part of. */
export function mountOf(table: string, path: string): MountEntry | undefined {
  let found: MountEntry | undefined;
  for (const mount of mountsIn(table)) {
    if (isBelow(path, mount.point) && mount.point.length >= (found?.point.length ?? 0)) found = mount;
  }
  return found;
}

function mountsIn(table: string): MountEntry[] {
  const mounts: MountEntry[] = [];
  for (const line of table.split("\n")) {
    const field = line.split(" ", 5)[4];
    if (field === undefined) continue;
    const point = field.replaceAll(/\\([0-7]{3})/g, (_, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    );
    mounts.push({ point, isShared: / shared:\d+ (?:.* )?- /.test(line) });
  }
  return mounts;
}

function isBelow(path: string, point: string): boolean {
  return path === point || path.startsWith(point === "/" ? point : `${point}/`);
}

const CAP_SYS_ADMIN = 21n;

/** A mounter where this process may mount, which root in a container often may not. */
export function systemMounter(): Mounter | undefined {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "0";
  return (BigInt(`0x${effective}`) >> CAP_SYS_ADMIN) & 1n ? new SystemMounter() : undefined;
}

/** Unmounting one may free others or take them along: what counts is that none is left at or below the path. */
export async function unmountAll(mounter: Mounter | undefined, path: string): Promise<void> {
  if (mounter === undefined || !existsSync(path)) return;
  const real = await realpath(path);
  let failure: unknown;
  for (let attempt = 0; attempt < 3; attempt++) {
    const points = await mounter.mountsBelow(real);
    if (points.length === 0) return;
    for (const point of points) {
      await mounter.unmount(point).catch((error: unknown) => {
        failure = error;
      });
    }
  }
  if ((await mounter.mountsBelow(real)).length > 0) throw failure;
}
