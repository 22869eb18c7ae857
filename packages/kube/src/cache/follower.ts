import type { KubeObject } from "@fjord/base";
import type { CacheHandler } from "./handlers.ts";
import { sameContent } from "./same-content.ts";
import { keyTextOf } from "./store.ts";

/** What a handler would believe in that keeps only what it is told, and finds fault with anything told twice. */
export class Follower<T extends KubeObject> implements CacheHandler<T> {
  readonly state = new Map<string, T>();
  readonly complaints: string[] = [];
  calls = 0;
  late = false;
  /** Versions told since the last restore: within one history none comes twice, nor after a newer one. */
  #versions = new Map<string, number>();

  onAdd(object: T, { initial }: { initial: boolean }): void {
    const key = keyTextOf(object);
    if (this.state.has(key)) this.complaints.push(`added twice: ${key}`);
    // What a late handler finds there may be of a history that is over, without the cache knowing it yet.
    if (!initial || !this.late) this.#told(object);
    this.state.set(key, object);
  }

  onUpdate(old: T, object: T): void {
    const key = keyTextOf(object);
    if (this.state.get(key) !== old) this.complaints.push(`update of what was not there: ${key}`);
    if (old.metadata.uid !== object.metadata.uid) this.complaints.push(`update to another object: ${key}`);
    if (sameContent(old, object)) this.complaints.push(`update without a change: ${key}`);
    this.#told(object);
    this.state.set(key, object);
  }

  onDelete(last: T, { unknownFinalState }: { unknownFinalState: boolean }): void {
    const key = keyTextOf(last);
    const known = this.state.get(key);
    if (known === undefined) this.complaints.push(`deleted twice: ${key}`);
    else if (known.metadata.uid !== last.metadata.uid) this.complaints.push(`deletion of another object: ${key}`);
    else if (unknownFinalState && known !== last) this.complaints.push(`deletion with an unknown last state: ${key}`);
    this.calls++;
    this.state.delete(key);
  }

  /** The server's history begins anew, so versions may come again. */
  historyChanged(): void {
    this.#versions = new Map();
  }

  #told({ metadata: { uid = "", resourceVersion } }: T): void {
    this.calls++;
    const version = Number(resourceVersion);
    const before = this.#versions.get(uid);
    if (before !== undefined && before >= version) this.complaints.push(`${uid} told at ${before}, then at ${version}`);
    this.#versions.set(uid, version);
  }
}
