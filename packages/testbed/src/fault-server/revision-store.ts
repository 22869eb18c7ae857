import type { Clock, KubeObject } from "@fjord/base";
import { alreadyExists, conflict, expired, notFound, tooLargeRevision } from "./status.ts";

/** One write, as a watch sees it. */
export interface Change {
  readonly revision: number;
  readonly resource: string;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: KubeObject;
  /** The state before; absent for a new object. */
  readonly previous?: KubeObject;
}

interface Version {
  readonly revision: number;
  /** Absent where the object was deleted at this revision. */
  readonly object?: KubeObject;
}

/** A backup: what `restore` takes the store back to. */
export interface Snapshot {
  readonly revision: number;
  readonly compacted: number;
  readonly versions: ReadonlyMap<string, ReadonlyMap<string, readonly Version[]>>;
  readonly log: readonly Change[];
}

/**
 * Objects with the whole history of their revisions in memory, as etcd keeps them: every write takes the next revision,
 * a read may ask for an older one until it is compacted. A resource is `plural` or `plural.group`.
 */
export class RevisionStore {
  readonly #clock: Clock;
  #revision = 1;
  #compacted = 0;
  #uids = 0;
  #versions = new Map<string, Map<string, Version[]>>();
  #log: Change[] = [];
  #listener: (change: Change) => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get revision(): number {
    return this.#revision;
  }

  /** Revisions below this one are forgotten. */
  get compacted(): number {
    return this.#compacted;
  }

  /** Whoever serves watches is told of every write. */
  onChange(listener: (change: Change) => void): void {
    this.#listener = listener;
  }

  get(resource: string, key: string): KubeObject | undefined {
    return this.#versions.get(resource)?.get(key)?.at(-1)?.object;
  }

  /** The objects as they were at a revision (now, when left out), by key; throws once that is compacted or lies ahead. */
  list(resource: string, revision: number = this.#revision): [key: string, object: KubeObject][] {
    if (revision > this.#revision) throw tooLargeRevision(revision, this.#revision);
    if (revision < this.#compacted) throw expired(revision, this.#compacted);
    const found: [string, KubeObject][] = [];
    for (const [key, versions] of this.#versions.get(resource) ?? []) {
      const object = versions.findLast((version) => version.revision <= revision)?.object;
      if (object !== undefined) found.push([key, object]);
    }
    return found.sort(([a], [b]) => (a < b ? -1 : 1));
  }

  /** The writes after a revision, oldest first. A revision that lies ahead gives none, as with the real thing. */
  changesSince(resource: string, revision: number): Change[] {
    if (revision < this.#compacted) throw expired(revision, this.#compacted);
    return this.#log.filter((change) => change.resource === resource && change.revision > revision);
  }

  create(resource: string, object: KubeObject): KubeObject {
    const key = keyOf(object);
    if (this.get(resource, key) !== undefined) throw alreadyExists(resource, key);
    return this.#write(resource, key, "ADDED", {
      ...object,
      metadata: {
        ...object.metadata,
        uid: `uid-${++this.#uids}`,
        creationTimestamp: new Date(this.#clock.now()).toISOString(),
      },
    });
  }

  /** Replaces an object; its uid stays, and a resource version, where given, has to be the current one. */
  update(resource: string, object: KubeObject): KubeObject {
    const key = keyOf(object);
    const previous = this.get(resource, key);
    if (previous === undefined) throw notFound(resource, key);
    const { resourceVersion = previous.metadata.resourceVersion, uid = previous.metadata.uid } = object.metadata;
    if (resourceVersion !== previous.metadata.resourceVersion || uid !== previous.metadata.uid)
      throw conflict(resource, key);
    const { creationTimestamp, deletionTimestamp } = previous.metadata;
    const metadata = { ...object.metadata, uid, creationTimestamp, ...(deletionTimestamp && { deletionTimestamp }) };
    const next = { ...object, metadata };
    if (deletionTimestamp !== undefined && !metadata.finalizers?.length)
      return this.#write(resource, key, "DELETED", next, previous);
    return this.#write(resource, key, "MODIFIED", next, previous);
  }

  /** Deletes an object, or marks it when it has finalizers. */
  delete(resource: string, key: string): KubeObject {
    const previous = this.get(resource, key);
    if (previous === undefined) throw notFound(resource, key);
    if (!previous.metadata.finalizers?.length) return this.#write(resource, key, "DELETED", previous, previous);
    const deletionTimestamp = previous.metadata.deletionTimestamp ?? new Date(this.#clock.now()).toISOString();
    const marked = { ...previous, metadata: { ...previous.metadata, deletionTimestamp } };
    return this.#write(resource, key, "MODIFIED", marked, previous);
  }

  /** Moves the revision on, as writes to other resources do. */
  advance(by = 1): void {
    this.#revision += by;
  }

  /** Forgets history before `revision`: older reads, pages and watches now get 410. */
  compact(revision: number = this.#revision): void {
    this.#compacted = Math.max(this.#compacted, revision);
    this.#log = this.#log.filter((change) => change.revision > this.#compacted);
    for (const objects of this.#versions.values()) {
      for (const [key, versions] of objects) {
        const first = versions.findLastIndex((version) => version.revision <= this.#compacted);
        if (first > 0) versions.splice(0, first);
        if (versions.length === 1 && versions[0]?.object === undefined) objects.delete(key);
      }
    }
  }

  snapshot(): Snapshot {
    return {
      revision: this.#revision,
      compacted: this.#compacted,
      versions: copyOf(this.#versions),
      log: [...this.#log],
    };
  }

  /** Goes back to a backup, revision and all, as etcd does unless told to bump revisions. */
  restore(snapshot: Snapshot): void {
    this.#revision = snapshot.revision;
    this.#compacted = snapshot.compacted;
    this.#versions = copyOf(snapshot.versions);
    this.#log = [...snapshot.log];
  }

  #write(resource: string, key: string, type: Change["type"], object: KubeObject, previous?: KubeObject): KubeObject {
    const revision = ++this.#revision;
    const written = { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
    const objects = this.#versions.get(resource) ?? new Map<string, Version[]>();
    this.#versions.set(resource, objects);
    const versions = objects.get(key) ?? [];
    objects.set(key, versions);
    versions.push(type === "DELETED" ? { revision } : { revision, object: written });
    const change: Change = { revision, resource, type, object: written, ...(previous && { previous }) };
    this.#log.push(change);
    this.#listener(change);
    return written;
  }
}

/** `namespace/name`, or `name` alone for what belongs to no namespace. */
export function keyOf(object: KubeObject): string {
  const { namespace, name = "" } = object.metadata;
  return namespace === undefined ? name : `${namespace}/${name}`;
}

function copyOf(versions: Snapshot["versions"]): Map<string, Map<string, Version[]>> {
  return new Map(
    [...versions].map(([resource, objects]) => [
      resource,
      new Map([...objects].map(([key, history]) => [key, [...history]])),
    ]),
  );
}
