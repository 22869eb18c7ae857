import { CONSUMER_LABEL, Contract, ORIGIN_UID_LABEL } from "@fjord/api";
import { type Clock, type Random, silentLogger } from "@fjord/base";
import { type Cache, type KubeClient, Namespace, Pod, SharedCaches } from "@fjord/kube";
import { brokenPromise } from "./promises.ts";
import { predecessorOf } from "./succession.ts";

export interface WatchmanOptions {
  readonly clients: ReadonlyMap<string, KubeClient>;
  readonly clock: Clock;
  readonly random: Random;
  /** Told of each thing that must never be. */
  readonly alarm: (finding: string) => void;
}

/** A guest, as it was when it was last seen. */
export interface GuestSeen {
  readonly site: string;
  readonly pod: Pod;
  readonly from: number;
  /** When it was seen to be gone. */
  readonly until?: number;
}

interface SiteView {
  readonly pods: Cache<Pod>;
  readonly contracts: Cache<Contract>;
  readonly namespaces: Cache<Namespace>;
}

/** Watches every site all the time for what must not be for a single moment. */
export class Watchman {
  readonly #options: WatchmanOptions;
  readonly #views = new Map<string, SiteView>();
  readonly #caches: SharedCaches[] = [];
  /** Uids of pods that have finished; for guests, of the pods that they stand for, with the guest that finished. */
  readonly #finished = new Map<string, string>();
  readonly #guests = new Map<string, Map<string, Pod>>();
  /** By uid of the pod that they stand for: all guests that there ever were, as they were last seen. */
  readonly #guestsEver = new Map<string, Map<string, GuestSeen>>();
  readonly predecessors = new Map<string, string | undefined>();
  /** By site: every namespace that was ever a consumer's there. */
  readonly twins = new Map<string, Set<string>>();

  constructor(options: WatchmanOptions) {
    this.#options = options;
    for (const [site, client] of options.clients) this.#watch(site, client);
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#caches.map((caches) => caches.run(signal)));
  }

  async waitForSync(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#caches.map((caches) => caches.waitForSync(signal)));
  }

  /** The guests that a pod had over its life, in turn. */
  guestsOf(originUid: string): GuestSeen[] {
    return [...(this.#guestsEver.get(originUid)?.values() ?? [])];
  }

  #watch(site: string, client: KubeClient): void {
    const { clock, random } = this.#options;
    const caches = new SharedCaches({ client, clock, random, logger: silentLogger });
    this.#caches.push(caches);
    const pods = caches.open(Pod).cache;
    const contracts = caches.open(Contract).cache;
    const namespaces = caches.open(Namespace).cache;
    this.#views.set(site, { pods, contracts, namespaces });
    pods.addHandler({
      onAdd: (pod) => this.#see(site, pod),
      onUpdate: (_, pod) => this.#see(site, pod),
      onDelete: (pod) => this.#forget(site, pod),
    });
    // A list that is taken anew shows what was made before it shows what is gone: contracts are judged when it is through.
    let isDue = false;
    const judge = () => {
      isDue = false;
      const broken = brokenPromise(contracts.list(), this.predecessors);
      if (broken !== undefined) this.#options.alarm(`${site} ${broken}`);
    };
    const promises = () => {
      if (!isDue) queueMicrotask(judge);
      isDue = true;
    };
    const remember = (contract: Contract) => void this.predecessors.set(...predecessorOf(contract));
    contracts.addHandler({ onAdd: remember });
    contracts.addHandler({ onAdd: promises, onUpdate: promises });
    const twins = new Set<string>();
    this.twins.set(site, twins);
    const twin = ({ metadata }: Namespace) => {
      if (metadata.labels?.[CONSUMER_LABEL] !== undefined) twins.add(metadata.name as string);
    };
    namespaces.addHandler({ onAdd: twin, onUpdate: (_, namespace) => twin(namespace) });
  }

  #see(site: string, pod: Pod): void {
    const { metadata, status } = pod;
    const uid = metadata.uid as string;
    const name = `${site} ${metadata.namespace}/${metadata.name} (${uid})`;
    const phase = status?.phase;
    const isOver = phase === "Succeeded" || phase === "Failed";
    const origin = metadata.labels?.[ORIGIN_UID_LABEL];
    if (this.#finished.get(uid) !== undefined && !isOver)
      this.#options.alarm(`pod ${name} was ${this.#finished.get(uid)} and is ${phase} again`);
    if (isOver) this.#finished.set(uid, phase);
    if (origin === undefined) return;
    const guests = this.#guests.get(origin) ?? new Map<string, Pod>();
    this.#guests.set(origin, guests.set(uid, pod));
    const ever = this.#guestsEver.get(origin) ?? new Map<string, GuestSeen>();
    const from = ever.get(uid)?.from ?? this.#options.clock.now();
    this.#guestsEver.set(origin, ever.set(uid, { site, from, pod }));
    const alive = [...guests.values()].filter((guest) => guest.metadata.deletionTimestamp === undefined);
    if (alive.length > 1) {
      const where = alive.map((guest) => `${guest.metadata.namespace}/${guest.metadata.name}`).join(", ");
      this.#options.alarm(`pod ${origin} has ${alive.length} guests at once: ${where} (the last at ${site})`);
    }
    const first = [...ever.keys()].find((guest) => guest !== uid && this.#finished.has(guest));
    if (first !== undefined) this.#options.alarm(`pod ${origin} finished as ${first} and has another guest: ${name}`);
  }

  #forget(site: string, pod: Pod): void {
    const { uid = "", labels } = pod.metadata;
    const origin = labels?.[ORIGIN_UID_LABEL];
    if (origin === undefined) return;
    this.#guests.get(origin)?.delete(uid);
    const ever = this.#guestsEver.get(origin);
    const now = this.#options.clock.now();
    ever?.set(uid, { site, from: ever.get(uid)?.from ?? now, pod, until: now });
  }
}
