import { createHash } from "node:crypto";
import { lstat, mkdir, rmdir, stat, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isCode } from "./file-errors.ts";
import type { Mounter } from "./mounter.ts";

const TMPFS = 0x01021994;

/**
 * The place for what must not reach a disk: Secrets, tokens. One tmpfs for all pods, because a mount for each of their
 * volumes takes longer than all else about them. Where the node may not mount, the machine's own shared memory is used.
 */
export class MemoryDirectory {
  readonly #directory: string;
  readonly #shared: string;
  readonly #mounter: Mounter | undefined;
  #ready: Promise<string> | undefined;

  constructor(stateDirectory: string, mounter: Mounter | undefined, sharedMemory = "/dev/shm") {
    this.#directory = join(stateDirectory, "memory");
    this.#mounter = mounter;
    const name = createHash("sha256").update(stateDirectory).digest("hex").slice(0, 16);
    this.#shared = join(sharedMemory, `fjord-node-${process.getuid?.() ?? 0}-${name}`);
  }

  /** The directory, made on first use. On a disk, for its owner alone, where the machine offers nothing better. */
  async path(): Promise<string> {
    // Shared memory may be cleared when its user logs out of the machine.
    if ((await this.#ready) === this.#shared && !(await this.#prepareShared())) this.#ready = undefined;
    this.#ready ??= this.#prepare().catch((error) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  /** Whether what is in it is kept in memory. */
  async inMemory(): Promise<boolean> {
    return (await statfs(await this.path())).type === TMPFS;
  }

  async #prepare(): Promise<string> {
    if (this.#mounter === undefined && (await this.#prepareShared())) return this.#shared;
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    if (this.#mounter !== undefined && !(await isMountPoint(this.#directory))) {
      await this.#mounter.tmpfs(this.#directory, { mode: 0o711 });
    }
    return this.#directory;
  }

  /** Its name can be foreseen: what another user has put there is not used. */
  async #prepareShared(): Promise<boolean> {
    try {
      await mkdir(this.#shared, { mode: 0o700 });
    } catch (error) {
      if (!isCode(error, "EEXIST")) return false;
    }
    const found = await lstat(this.#shared);
    const ours = found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
    return ours && (await statfs(this.#shared)).type === TMPFS;
  }

  /** Takes the shared one away once the last pod has gone. */
  async tidy(): Promise<void> {
    if (this.#ready === undefined || (await this.#ready) !== this.#shared) return;
    try {
      await rmdir(this.#shared);
      this.#ready = undefined;
    } catch (error) {
      if (!isCode(error, "ENOTEMPTY") && !isCode(error, "ENOENT")) throw error;
    }
  }
}

/** Whether another file system is mounted on a directory. Not for bind mounts within one file system. */
export async function isMountPoint(directory: string): Promise<boolean> {
  const [own, parent] = await Promise.all([stat(directory), stat(dirname(directory))]);
  return own.dev !== parent.dev;
}
