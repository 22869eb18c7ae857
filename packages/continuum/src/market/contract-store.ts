import { Contract } from "@fjord/api";
import { type Cache, compareResourceVersions, isNotFound, sameContent } from "@fjord/kube";
import type { Home } from "../home.ts";
import type { ContractStatus } from "./contract-life.ts";

/** A watch tells within milliseconds; beyond this its API is in trouble, and whoever waits is better told so. */
const SHOWN_WITHIN_MS = 5_000;

/**
 * The site's Contract objects, never older than its own last write: a fresh list first, then what each write answers, and
 * from the cache only what is newer. Capacity is decided on these.
 */
export class ContractStore {
  readonly #home: Pick<Home, "client" | "caches" | "clock">;
  readonly #contracts = new Map<string, Contract>();
  readonly #listeners = new Set<(contract: Contract) => void>();
  readonly #cache: Cache<Contract>;
  /** Those that wait for the watch. */
  readonly #waiting = new Set<() => void>();
  #listed: Promise<void> | undefined;

  constructor(home: Pick<Home, "client" | "caches" | "clock">) {
    this.#home = home;
    this.#cache = home.caches.open(Contract).cache;
    this.#cache.addHandler({
      onAdd: (contract) => this.#shows(() => this.#keep(contract)),
      onUpdate: (_, contract) => this.#shows(() => this.#keep(contract)),
      onDelete: (contract) => this.#shows(() => this.#drop(contract)),
    });
  }

  /** Resolves when the API has been asked once; again after a write whose outcome is not known. */
  fresh(): Promise<void> {
    this.#listed ??= this.#list().catch((error: unknown) => {
      this.#listed = undefined;
      throw error;
    });
    return this.#listed;
  }

  /** Resolves when every contract is known, however long the API takes to say so; not for decisions. */
  known(signal: AbortSignal): Promise<void> {
    return this.#cache.waitForSync(signal);
  }

  /** Whether every contract has been read once: before, one that is not here may exist all the same. */
  get complete(): boolean {
    return this.#cache.hasSynced;
  }

  get(id: string): Contract | undefined {
    return this.#contracts.get(id);
  }

  all(): Contract[] {
    return [...this.#contracts.values()];
  }

  /** Told of every change but of how much guests take: that follows from what the listeners do, many times a second. */
  onChange(listener: (contract: Contract) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Whether the watch has shown this very object: it has then shown whatever was made before it, by whichever agent. */
  hasShown({ metadata }: Contract): boolean {
    return this.#cache.get({ name: metadata.name ?? "" })?.metadata.uid === metadata.uid;
  }

  /** Resolves once the watch has shown a contract that is known here, or has taken too long to. */
  async shown(id: string): Promise<void> {
    const isShown = () => {
      const contract = this.#contracts.get(id);
      return contract === undefined || this.hasShown(contract);
    };
    if (isShown()) return;
    await new Promise<void>((resolve) => {
      const look = () => {
        if (isShown()) end();
      };
      const end = () => {
        cancel();
        this.#waiting.delete(look);
        resolve();
      };
      const cancel = this.#home.clock.after(SHOWN_WITHIN_MS, end);
      this.#waiting.add(look);
    });
  }

  async create(contract: Contract): Promise<Contract> {
    return this.#written(this.#home.client.create(Contract, contract));
  }

  /** Writes the status as it is to be; nobody else writes it, so that nothing is lost by it. */
  async writeStatus(id: string, status: ContractStatus, resourceVersion?: string): Promise<Contract> {
    const patch = { ...(resourceVersion !== undefined && { metadata: { resourceVersion } }), status };
    return this.#written(this.#home.client.patch(Contract, { name: id }, "merge", patch, { subresource: "status" }));
  }

  /** Writes what this site's owner wants of it, unless the owner has written meanwhile. */
  async writeWish(
    { metadata }: Contract,
    { standing, limit }: Pick<Contract["spec"], "standing" | "limit">,
  ): Promise<Contract> {
    const { name = "", resourceVersion } = metadata;
    // Null takes a field away in a merge patch.
    const patch = { metadata: { resourceVersion }, spec: { standing, limit: limit ?? null } };
    return this.#written(this.#home.client.patch(Contract, { name }, "merge", patch));
  }

  /** Removes the object; one that is gone already is as good. */
  remove(contract: Contract): Promise<void> {
    const { uid } = contract.metadata;
    return this.#remove(contract, uid === undefined ? {} : { uid });
  }

  /** Removes the object as it is known here; throws where somebody has changed it since, and the API is asked again before the next decision. */
  removeUnchanged(contract: Contract): Promise<void> {
    const { uid, resourceVersion } = contract.metadata;
    const preconditions = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) };
    return this.#remove(contract, preconditions);
  }

  async #remove(contract: Contract, preconditions: { uid?: string; resourceVersion?: string }): Promise<void> {
    const { name = "" } = contract.metadata;
    try {
      await this.#home.client.delete(Contract, { name }, { preconditions });
    } catch (error) {
      if (!isNotFound(error)) {
        this.#listed = undefined;
        throw error;
      }
    }
    this.#drop(contract);
  }

  /** Tells listeners of a contract that is the same object and yet another: time has passed for it. */
  touch(contract: Contract): void {
    for (const listener of this.#listeners) listener(contract);
  }

  #shows(take: () => void): void {
    take();
    for (const look of this.#waiting) look();
  }

  async #list(): Promise<void> {
    const { items } = await this.#home.client.list(Contract, { omitManagedFields: true });
    for (const contract of items) this.#keep(contract);
  }

  async #written(answer: Promise<Contract>): Promise<Contract> {
    try {
      const contract = await answer;
      this.#keep(contract);
      return contract;
    } catch (error) {
      // It may have happened all the same: look before anything is decided on it.
      this.#listed = undefined;
      throw error;
    }
  }

  #keep(contract: Contract): void {
    const { name = "", resourceVersion = "" } = contract.metadata;
    const known = this.#contracts.get(name);
    const order = compareResourceVersions(resourceVersion, known?.metadata.resourceVersion ?? "0");
    if (known !== undefined && order !== undefined && order <= 0) return;
    if (known === undefined && this.#isGone(contract)) return;
    this.#contracts.set(name, contract);
    if (known === undefined || !sameContent(withoutUse(known), withoutUse(contract))) this.touch(contract);
  }

  /** Whether the watch has passed it and does not show it: an answer can come after the news of the object's end. */
  #isGone({ metadata }: Contract): boolean {
    const { name = "", resourceVersion = "" } = metadata;
    if (this.#cache.get({ name }) !== undefined) return false;
    const order = compareResourceVersions(this.#cache.health.resourceVersion ?? "", resourceVersion);
    return order !== undefined && order > 0;
  }

  #drop({ metadata }: Contract): void {
    const { name = "", uid } = metadata;
    const known = this.#contracts.get(name);
    if (known === undefined || known.metadata.uid !== uid) return;
    this.#contracts.delete(name);
    this.touch(known);
  }
}

/** All of a contract but what guests take, and what every write changes. */
function withoutUse({ metadata, spec, status }: Contract) {
  return {
    metadata: { ...metadata, resourceVersion: undefined, managedFields: undefined },
    spec,
    status: { ...status, used: undefined },
  };
}
