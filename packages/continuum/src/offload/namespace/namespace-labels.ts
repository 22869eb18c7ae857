import { OFFLOADED_LABEL, OFFLOADING_NAME, Offloading } from "@fjord/api";
import { againAfter, type Cache, done, ifNotFound, isBeingDeleted, Namespace, type Result } from "@fjord/kube";
import type { Home } from "../../home.ts";

/** A label may be there before its Offloading, which comes a moment later or never. */
const STALE_MS = 5_000;

/** Keeps the label by which the API server knows whose pods to ask about. */
export class NamespaceLabels {
  readonly #home: Home;
  /** Those that carry it. */
  readonly #labelled: Cache<Namespace>;
  /** When a label without an Offloading was first seen, by namespace. */
  readonly #lonelySince = new Map<string, number>();

  constructor(home: Home, labelled: Cache<Namespace>) {
    this.#home = home;
    this.#labelled = labelled;
  }

  async ensure(namespace: string, signal: AbortSignal): Promise<void> {
    this.#lonelySince.delete(namespace);
    if (this.#labelled.get({ name: namespace }) === undefined) await this.#set(namespace, "true", signal);
  }

  async remove(namespace: string, signal: AbortSignal): Promise<void> {
    if (this.#labelled.get({ name: namespace }) !== undefined) await this.#set(namespace, null, signal);
  }

  /** Takes away a label that nothing has followed. */
  async removeStale(namespace: string, signal: AbortSignal): Promise<Result> {
    const { client, clock } = this.#home;
    const found = this.#labelled.get({ name: namespace });
    if (found === undefined || isBeingDeleted(found)) {
      this.#lonelySince.delete(namespace);
      return done();
    }
    const since = this.#lonelySince.get(namespace) ?? clock.now();
    this.#lonelySince.set(namespace, since);
    const wait = since + STALE_MS - clock.now();
    if (wait > 0) return againAfter(wait);
    this.#lonelySince.delete(namespace);
    const { items } = await client.list(Offloading, { namespace, signal });
    if (items.some(({ metadata }) => metadata.name === OFFLOADING_NAME)) return done();
    const { labels } = (await this.#set(namespace, null, signal))?.metadata ?? {};
    // Admission puts it back while it believes in an Offloading that was admitted and never came: nothing tells when that is over.
    return labels?.[OFFLOADED_LABEL] === "true" ? againAfter(STALE_MS) : done();
  }

  async #set(namespace: string, value: "true" | null, signal: AbortSignal): Promise<Namespace | undefined> {
    const patch = { metadata: { labels: { [OFFLOADED_LABEL]: value } } };
    return await this.#home.client.patch(Namespace, { name: namespace }, "merge", patch, { signal }).catch(ifNotFound);
  }
}
