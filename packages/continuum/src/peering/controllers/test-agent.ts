import type { Contract } from "@fjord/api";
import { type Clock, silentLogger } from "@fjord/base";
import { ConnectionError, EventRecorder, type KubeClient, type Runnable, SharedCaches } from "@fjord/kube";
import type { Home } from "../../home.ts";
import type { SiteKey } from "../../identity/index.ts";
import {
  ConsumerContracts,
  ContractBook,
  ContractRoutes,
  ContractStore,
  Negotiation,
  ProviderContracts,
} from "../../market/index.ts";
import { PeerRefused } from "../../peer-refused-error.ts";
import type { PeerRoute } from "../../peer-routes.ts";
import type { SiteReport } from "../../protocol.ts";
import type { Reachability, RemoteSite, RemoteSites } from "../../remote-site.ts";
import type { SiteId } from "../../site-identity.ts";
import { TenantController } from "../tenant/index.ts";
import { OwnSite } from "./own-site.ts";
import { PeeringController } from "./peering-controller.ts";
import { SiteController } from "./site-controller.ts";

export interface TestAgentOptions {
  readonly client: KubeClient;
  readonly key: SiteKey;
  readonly siteName: string;
  readonly clock: Clock;
  /** The agents of other sites, as they are now. */
  peers(): readonly TestAgent[];
  readonly logger?: Home["logger"];
  /** Real connections in the place of short ways; what serves them is made of the agent. */
  wire?(agent: TestAgent): RemoteSites & Pick<Runnable, "run">;
}

/** What a site's agent does about agreements, on a real API; only the way to other agents is short. */
export class TestAgent {
  readonly home: Home;
  readonly store: ContractStore;
  readonly book: ContractBook;
  readonly routes: ContractRoutes;
  readonly tenants: TenantController;
  readonly own: OwnSite;
  readonly sites: ShortWays;
  readonly negotiation: Negotiation;
  /** What guests take of a contract. */
  used: (contract: string) => ReadonlyMap<string, bigint> = () => new Map();
  readonly #runnables: Runnable[];
  readonly #wire: RemoteSites & Pick<Runnable, "run">;
  readonly #stop = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: TestAgentOptions) {
    const { client, key, siteName, clock, logger = silentLogger } = options;
    const means = { clock, random: Math.random, logger };
    const caches = new SharedCaches({ ...means, client });
    const recorder = new EventRecorder({ ...means, client, component: "fjord-agent" });
    const home = { ...means, identity: key, client, caches, recorder, namespace: "fjord-system" };
    this.home = home;
    this.own = new OwnSite({ home, siteName, version: "0.1.0", kubernetesVersion: () => "v1.36.0" });
    const ownSite = this.own.object;
    const store = new ContractStore(home);
    const book = new ContractBook({ home, store, ownSite });
    this.store = store;
    this.book = book;
    this.tenants = new TenantController({
      home,
      contracts: book,
      contractsKnown: () => store.fresh(),
      ownSite,
    });
    this.routes = new ContractRoutes({ book, tenants: this.tenants, clock, logger });
    this.sites = new ShortWays(this, options.peers);
    this.negotiation = new Negotiation({ home, store });
    const { negotiation } = this;
    this.#wire = options.wire?.(this) ?? this.sites;
    const sites = this.#wire;
    const contracts = new ConsumerContracts({ home, store, sites, negotiation });
    const redeem = async () => Promise.reject(new Error("no token in this test"));
    this.#runnables = [
      recorder,
      this.tenants,
      contracts,
      new ProviderContracts({ home, store, book, used: (contract) => this.used(contract) }),
      new PeeringController({ home, sites, store, negotiation, contracts, redeem }),
      new SiteController({ home, own: this.own, sites, book }),
    ];
  }

  get id(): SiteId {
    return this.home.identity.id;
  }

  async start(): Promise<this> {
    const { signal } = this.#stop;
    const caches = this.home.caches.run(signal);
    await this.home.caches.waitForSync();
    const runs = this.#runnables.map((runnable) => runnable.run(signal, signal));
    this.#running = Promise.all([caches, this.#wire.run(signal, signal), ...runs]);
    return this;
  }

  /** Stops as if killed: what is in hand is dropped. */
  async kill(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  reportFor(caller: SiteId): SiteReport {
    const amounts = this.book.shared();
    return {
      id: this.id,
      published: this.own.published(),
      endpoints: [],
      ...amounts,
      contracts: this.routes.contractsOf(caller),
    };
  }

  contracts(): Contract[] {
    return this.store.all();
  }
}

/** The way to other agents: their routes called directly, with JSON in between. */
export class ShortWays implements RemoteSites {
  readonly #from: TestAgent;
  readonly #peers: () => readonly TestAgent[];
  readonly #ways = new Map<SiteId, ShortWay>();
  readonly #listeners = new Set<(id: SiteId) => void>();
  /** Called before each call, and after each whose answer is to be lost; throws to cut it. */
  before: (call: string) => void = () => {};
  after: (call: string) => void = () => {};

  constructor(from: TestAgent, peers: () => readonly TestAgent[]) {
    this.#from = from;
    this.#peers = peers;
  }

  get(id: SiteId): ShortWay | undefined {
    const isKnown = this.#peers().some((peer) => peer.id === id);
    if (!isKnown) return undefined;
    const known = this.#ways.get(id) ?? new ShortWay(id, this.#from, this.#peers, this, () => this.#tell(id));
    this.#ways.set(id, known);
    return known;
  }

  list(): readonly RemoteSite[] {
    return [...this.#ways.values()];
  }

  onChange(listener: (id: SiteId) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      for (const way of this.#ways.values()) way.refresh();
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  #tell(id: SiteId): void {
    for (const listener of this.#listeners) listener(id);
  }
}

class ShortWay implements RemoteSite {
  readonly id: SiteId;
  readonly clockAhead = 0;
  report: SiteReport | undefined;
  reachability: Reachability = { reachable: true, since: 0, reason: "Dialled", message: "" };
  readonly #from: TestAgent;
  readonly #peers: () => readonly TestAgent[];
  readonly #ways: ShortWays;
  readonly #changed: () => void;
  #cut = false;

  constructor(id: SiteId, from: TestAgent, peers: () => readonly TestAgent[], ways: ShortWays, changed: () => void) {
    this.id = id;
    this.#from = from;
    this.#peers = peers;
    this.#ways = ways;
    this.#changed = changed;
  }

  get kube(): KubeClient {
    throw new Error("nobody needs the other API here");
  }

  /** Cuts the way, or mends it. */
  set cut(cut: boolean) {
    this.#cut = cut;
    const reason = cut ? ("ConnectionFailed" as const) : ("Dialled" as const);
    this.reachability = { reachable: !cut, since: this.#from.home.clock.now(), reason, message: cut ? "cut" : "" };
    this.#changed();
  }

  /** Has the other side say, and nothing else, that it does not know this one. */
  forget(): void {
    this.cut = true;
    this.reachability = { ...this.reachability, reason: "NotPaired", forgotten: true };
    this.#changed();
  }

  async call<Answer>(method: PeerRoute["method"], path: string, body?: unknown, signal?: AbortSignal): Promise<Answer> {
    this.#ways.before(`${method} ${path}`);
    const peer = this.#peers().find(({ id }) => id === this.id);
    if (peer === undefined || this.#cut) throw lost(method, path);
    const [route, params] = routeFor(peer.routes.routes, method, path);
    const { id, publicKey } = this.#from.home.identity;
    const call = {
      caller: { id, publicKey },
      params,
      body: copy(body),
      signal: signal ?? new AbortController().signal,
    };
    const answer = copy(await this.#answered(route.handle(call), method, path)) as Answer;
    this.#ways.after(`${method} ${path}`);
    return answer;
  }

  connect(): Promise<never> {
    return Promise.reject(new Error("nobody needs a connection here"));
  }

  /** What breaks over there is, seen from here, an answer that never came. */
  async #answered(answer: Promise<unknown>, method: string, path: string): Promise<unknown> {
    try {
      return await answer;
    } catch (error) {
      throw error instanceof PeerRefused ? error : lost(method, path);
    }
  }

  onChange(): () => void {
    return () => {};
  }

  refresh(): void {
    const peer = this.#peers().find(({ id }) => id === this.id);
    if (peer === undefined || this.#cut) return;
    const report = copy(peer.reportFor(this.#from.id)) as SiteReport;
    if (JSON.stringify(report) === JSON.stringify(this.report)) return;
    this.report = report;
    this.#changed();
  }
}

export function lost(method: string, path: string): ConnectionError {
  return new ConnectionError({ action: `${method} ${path}`, server: "the other site", reason: "cut", sent: true });
}

function routeFor(routes: PeerRoute[], method: string, path: string): [PeerRoute, Record<string, string>] {
  const parts = path.split("/");
  for (const route of routes) {
    const names = route.path.split("/");
    if (route.method !== method || names.length !== parts.length) continue;
    if (!names.every((name, index) => name.startsWith(":") || name === parts[index])) continue;
    const params = names.flatMap((name, index) => (name.startsWith(":") ? [[name.slice(1), parts[index] ?? ""]] : []));
    return [route, Object.fromEntries(params)];
  }
  throw new Error(`no route ${method} ${path}`);
}

function copy(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}
