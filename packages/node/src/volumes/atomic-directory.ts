import { randomBytes } from "node:crypto";
import * as nodeFiles from "node:fs/promises";
import { dirname, join } from "node:path";
import { isCode } from "./file-errors.ts";
import { checkedPath, checkedProjection, type ProjectedFile, type Projection } from "./file-projection.ts";
import { modeForGroup } from "./ownership.ts";

/** What of Node's file system is used; tests make it fail at any step. */
export type Files = Pick<
  typeof nodeFiles,
  | "chmod"
  | "lchown"
  | "lstat"
  | "mkdir"
  | "readdir"
  | "readFile"
  | "readlink"
  | "rename"
  | "rm"
  | "symlink"
  | "writeFile"
>;

export interface AtomicDirectoryOptions {
  /** Lets this group read everything. */
  readonly group?: number | undefined;
  /** Called where a file cannot be given to its owner or group, which only root may do. Throws by default. */
  readonly onChownRefused?: (path: string, error: unknown) => void;
  readonly files?: Files;
}

const DATA = "..data";
const NEXT = "..data_tmp";

/**
 * A directory whose files change all at once, in the way that applications know from Kubernetes: each visible name is a
 * link into `..data`, which is a link to a directory of one version, and is replaced by renaming. Links of new names are
 * made before that and those of old ones removed after it, so that whoever reads sees one whole version at any moment,
 * also where the writer dies in between.
 */
export class AtomicDirectory {
  readonly #directory: string;
  readonly #group: number | undefined;
  readonly #onChownRefused: (path: string, error: unknown) => void;
  readonly #files: Files;

  constructor(directory: string, options: AtomicDirectoryOptions = {}) {
    this.#directory = directory;
    this.#group = options.group;
    this.#files = options.files ?? nodeFiles;
    this.#onChownRefused =
      options.onChownRefused ??
      ((_, error) => {
        throw error;
      });
  }

  /**
   * Makes the directory hold exactly these files, and empty directories to mount others on. Writes nothing where it does
   * already; tells whether it wrote.
   */
  async write(projection: Projection, mountPoints: readonly string[] = []): Promise<boolean> {
    const wanted = checkedProjection(projection);
    await this.#makeDirectory(this.#directory);
    for (const point of mountPoints) {
      await this.#makeParents(join(this.#directory, checkedPath(point)), new Set([this.#directory]));
    }
    const current = await this.#current();
    const changed = current === undefined || !(await this.#holds(current, wanted));
    const version = changed ? await this.#writeVersion(wanted) : current;

    const names = new Set([...wanted.keys()].map((path) => path.split("/", 1)[0] as string));
    await this.#link(names);
    if (changed) await this.#publish(version);
    await this.#sweep(names, version);
    return changed;
  }

  async #makeDirectory(directory: string): Promise<void> {
    try {
      await this.#files.mkdir(directory, { mode: 0o755 });
    } catch (error) {
      if (!isCode(error, "EEXIST")) throw error;
    }
    await this.#grant(directory, 0o755, "directory");
  }

  /** Name of the directory of the version in force. */
  async #current(): Promise<string | undefined> {
    try {
      const target = await this.#files.readlink(join(this.#directory, DATA));
      return /^\.\.[^/]+$/.test(target) ? target : undefined;
    } catch (error) {
      if (isCode(error, "ENOENT") || isCode(error, "EINVAL")) return undefined;
      throw error;
    }
  }

  async #holds(version: string, wanted: ReadonlyMap<string, ProjectedFile>): Promise<boolean> {
    const root = join(this.#directory, version);
    const found = await this.#filesBelow(root);
    if (found === undefined || found.length !== wanted.size) return false;
    for (const path of found) {
      const file = wanted.get(path);
      if (file === undefined || !(await this.#has(join(root, path), file.data))) return false;
    }
    return true;
  }

  async #has(path: string, data: Buffer): Promise<boolean> {
    try {
      return data.equals(await this.#files.readFile(path));
    } catch (error) {
      // Modes may deny us what we have written, where we are not root.
      if (isCode(error, "EACCES")) return false;
      throw error;
    }
  }

  async #filesBelow(root: string): Promise<string[] | undefined> {
    try {
      const entries = await this.#files.readdir(root, { recursive: true, withFileTypes: true });
      return entries
        .filter((entry) => !entry.isDirectory())
        .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));
    } catch (error) {
      if (isCode(error, "ENOENT") || isCode(error, "ENOTDIR")) return undefined;
      throw error;
    }
  }

  async #writeVersion(wanted: ReadonlyMap<string, ProjectedFile>): Promise<string> {
    const stamp = new Date().toISOString().slice(0, 19).replaceAll(/[-T:]/g, "_");
    const version = `..${stamp}.${randomBytes(5).toString("hex")}`;
    const root = join(this.#directory, version);
    await this.#makeDirectory(root);

    const made = new Set([root]);
    for (const [path, file] of wanted) {
      const target = join(root, path);
      await this.#makeParents(dirname(target), made);
      await this.#files.writeFile(target, file.data, { flag: "wx", mode: 0o600 });
      if (file.owner !== undefined) await this.#chown(target, file.owner, -1);
      await this.#grant(target, file.mode & 0o777, "file");
    }
    return version;
  }

  async #makeParents(directory: string, made: Set<string>): Promise<void> {
    if (made.has(directory)) return;
    await this.#makeParents(dirname(directory), made);
    await this.#makeDirectory(directory);
    made.add(directory);
  }

  /** Sets group and mode; in this order, because a change of group takes the set-group bit away. */
  async #grant(path: string, mode: number, kind: "file" | "directory"): Promise<void> {
    if (this.#group !== undefined) await this.#chown(path, -1, this.#group);
    await this.#files.chmod(path, this.#group === undefined ? mode : modeForGroup(mode, kind, "read"));
  }

  async #chown(path: string, user: number, group: number): Promise<void> {
    try {
      await this.#files.lchown(path, user, group);
    } catch (error) {
      if (!isCode(error, "EPERM")) throw error;
      this.#onChownRefused(path, error);
    }
  }

  async #link(names: ReadonlySet<string>): Promise<void> {
    for (const name of names) {
      try {
        await this.#files.symlink(join(DATA, name), join(this.#directory, name));
      } catch (error) {
        if (!isCode(error, "EEXIST")) throw error;
      }
    }
  }

  async #publish(version: string): Promise<void> {
    const next = join(this.#directory, NEXT);
    await this.#files.rm(next, { recursive: true, force: true });
    await this.#files.symlink(version, next);
    await this.#files.rename(next, join(this.#directory, DATA));
  }

  /** Removes links of names that are gone, and whatever earlier or interrupted writes have left. */
  async #sweep(names: ReadonlySet<string>, version: string): Promise<void> {
    for (const entry of await this.#files.readdir(this.#directory, { withFileTypes: true })) {
      const path = join(this.#directory, entry.name);
      if (entry.name.startsWith("..")) {
        if (entry.name !== DATA && entry.name !== version) {
          await this.#files.rm(path, { recursive: true, force: true });
        }
      } else if (entry.isSymbolicLink() && !names.has(entry.name)) await this.#files.rm(path, { force: true });
    }
  }
}
