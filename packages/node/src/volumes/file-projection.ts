import { InvalidFilePath, VolumeTooLarge } from "./errors.ts";

/** A file of a volume whose content comes from the API. */
export interface ProjectedFile {
  readonly data: Buffer;
  readonly mode: number;
  /** Owned by the node's own user where absent. */
  readonly owner?: number;
}

/** All files of a volume by their paths. */
export type Projection = ReadonlyMap<string, ProjectedFile>;

/** Far above what ConfigMaps and Secrets can hold, far below what would hurt a small node. */
const LARGEST_VOLUME = 64 * 1024 * 1024;

/** The same files by normal paths; throws for what would lead out of the volume or does not fit in it. */
export function checkedProjection(projection: Projection): Map<string, ProjectedFile> {
  const checked = new Map<string, ProjectedFile>();
  let size = 0;
  for (const [path, file] of projection) {
    size += file.data.length;
    checked.set(checkedPath(path), file);
  }
  if (size > LARGEST_VOLUME) throw new VolumeTooLarge({ limit: LARGEST_VOLUME });
  for (const path of checked.keys()) {
    for (let end = path.indexOf("/"); end !== -1; end = path.indexOf("/", end + 1)) {
      if (checked.has(path.slice(0, end))) throw invalid(path, "a file is in the place of its directory");
    }
  }
  return checked;
}

/** A normal path within a volume. Names that begin with two dots belong to the machinery of updates. */
export function checkedPath(path: string): string {
  if (path.startsWith("/")) throw invalid(path, "must be relative");
  if (path.length > 4096) throw invalid(`${path.slice(0, 64)}...`, "must not be longer than 4096 characters");
  if (path.includes("\0")) throw invalid(JSON.stringify(path), "must not contain a null character");
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  const [first] = parts;
  if (first === undefined) throw invalid(JSON.stringify(path), "must not be empty");
  if (parts.includes("..")) throw invalid(path, "must not contain '..'");
  if (first.startsWith("..")) throw invalid(path, "must not start with '..'");
  if (parts.some((part) => Buffer.byteLength(part) > 255)) throw invalid(path, "file names must fit in 255 bytes");
  return parts.join("/");
}

function invalid(path: string, reason: string): InstanceType<typeof InvalidFilePath> {
  return new InvalidFilePath({ path, reason });
}
