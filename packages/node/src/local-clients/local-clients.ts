import { keyOf, type LocalConnection, type LocalPod, type PodProcess } from "./local-connection.ts";
import { SocketOwners } from "./socket-owners.ts";

/**
 * Which pods of this machine are behind connections to this process. An address says nothing: any process may have any of loopback. Whoever
 * passes connections on in this process notes for whom.
 */
export class LocalClients {
  readonly #sources = new Set<() => Iterable<PodProcess>>();
  readonly #owners = new SocketOwners(() => this.#processes());
  readonly #notes = new Map<string, LocalConnection | LocalPod | undefined>();

  /** The node tells which processes are whose. Returns how to stop that. */
  follow(processes: () => Iterable<PodProcess>): () => void {
    this.#sources.add(processes);
    return () => void this.#sources.delete(processes);
  }

  /** A connection that this process has opened for another one, or for a pod elsewhere, or for nobody knows whom. Returns how to forget it. */
  note(connection: LocalConnection, client: LocalConnection | LocalPod | undefined): () => void {
    const key = keyOf(connection);
    this.#notes.set(key, client);
    return () => void this.#notes.delete(key);
  }

  /** Undefined where it is no pod, or nobody can tell. */
  async of(connection: LocalConnection): Promise<LocalPod | undefined> {
    const key = keyOf(connection);
    // Who has opened it in this process may hear of it later than who has taken it.
    if (!this.#notes.has(key)) await new Promise((resolve) => setImmediate(resolve));
    if (this.#notes.has(key)) return await this.#noted(key);
    const owner = await this.#owners.ownerOf(connection);
    return owner ?? (await this.#noted(key));
  }

  async #noted(key: string): Promise<LocalPod | undefined> {
    const noted = this.#notes.get(key);
    return noted === undefined || "uid" in noted ? noted : await this.#owners.ownerOf(noted);
  }

  *#processes(): Generator<PodProcess> {
    for (const source of this.#sources) yield* source();
  }
}
