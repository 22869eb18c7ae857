import { createHash } from "node:crypto";
import { lstat, mkdir, readdir, rmdir, stat, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { exists, isCode } from "./file-errors.ts";
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
  #holders = 0;
  #tidied: Promise<void> = Promise.resolve();

  constructor(stateDirectory: string, mounter: Mounter | undefined, sharedMemory = "/dev/shm") {
    this.#directory = join(stateDirectory, "memory");
    this.#mounter = mounter;
    const name = createHash("sha256").update(stateDirectory).digest("hex").slice(0, 16);
    this.#shared = join(sharedMemory, `fjord-node-${process.getuid?.() ?? 0}-${name}`);
  }

  /** Where it is or will be, for paths below it. */
  location(): Promise<string> {
    return this.#mounter === undefined ? this.path() : Promise.resolve(this.#directory);
  }

  /** Has it there while something is written to it: what is not empty afterwards stays. */
  async hold<T>(work: () => Promise<T>): Promise<T> {
    this.#holders++;
    try {
      await this.#tidied;
      await this.path();
      return await work();
    } finally {
      this.#holders--;
    }
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

  /** Gives the memory back once the last pod has gone. */
  tidy(): Promise<void> {
    const turn = this.#tidied.then(() => this.#tidy());
    // Whoever asked hears of a failure; those who wait for their turn do not mind.
    this.#tidied = turn.catch(() => {});
    return turn;
  }

  /** Whoever comes to hold it from now on waits until this is over. */
  async #tidy(): Promise<void> {
    if (this.#holders > 0) return;
    if (this.#mounter !== undefined) return this.#unmountIfEmpty(this.#mounter);
    if (this.#ready === undefined || (await this.#ready) !== this.#shared) return;
    try {
      await rmdir(this.#shared);
      this.#ready = undefined;
    } catch (error) {
      if (!isCode(error, "ENOTEMPTY") && !isCode(error, "ENOENT")) throw error;
    }
  }

  async #unmountIfEmpty(mounter: Mounter): Promise<void> {
    const directory = this.#directory;
    if (!(await exists(directory)) || (await readdir(directory)).length > 0) return;
    this.#ready = undefined;
    while (await isMountPoint(directory)) await mounter.unmount(directory);
    await rmdir(directory);
  }
}

/** Whether another file system is mounted on a directory. Not for bind mounts within one file system. */
export async function isMountPoint(directory: string): Promise<boolean> {
  const [own, parent] = await Promise.all([stat(directory), stat(dirname(directory))]);
  return own.dev !== parent.dev;
}
