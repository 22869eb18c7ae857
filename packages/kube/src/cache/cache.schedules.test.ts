import assert from "node:assert/strict";
import { test } from "node:test";
import { describeError, type Random, seededRandom, sleep, systemClock } from "@fjord/base";
import { type Break, type Fault, FaultServer, type Snapshot } from "@fjord/testbed/fault-server";
import {
  type ConfigMap,
  configMaps,
  type RunningCache,
  type RunOptions,
  runCache,
  until,
  versionOf,
} from "./cache-harness.ts";
import { Follower } from "./follower.ts";
import type { Scope } from "./reflector-options.ts";
import { sameContent } from "./same-content.ts";
import { keyTextOf } from "./store.ts";

// FJORD_FAULT_SCHEDULES=1000 runs more; FJORD_FAULT_SEED=n FJORD_FAULT_SCHEDULES=1 runs one again.
const schedules = Number(process.env.FJORD_FAULT_SCHEDULES ?? 150);
const firstSeed = Number(process.env.FJORD_FAULT_SEED ?? Math.floor(Math.random() * 1e9));
const atOnce = 25;

test(`a cache equals the truth after any schedule of faults (${schedules} schedules from seed ${firstSeed})`, async (t) => {
  let next = 0;
  const totals = { steps: 0, requests: 0, calls: 0, restores: 0 };
  const worker = async () => {
    while (next < schedules) {
      const seed = firstSeed + next++;
      const ran = await runSchedule(seed).catch((cause) => {
        throw new Error(`schedule with seed ${seed} failed: FJORD_FAULT_SEED=${seed} FJORD_FAULT_SCHEDULES=1`, {
          cause,
        });
      });
      for (const name of Object.keys(totals) as (keyof typeof totals)[]) totals[name] += ran[name];
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, schedules) }, worker));
  t.diagnostic(JSON.stringify({ schedules, firstSeed, ...totals }));
});

/** One random schedule: writes and faults in any order, then health; throws where the cache or a handler is wrong. */
class Schedule {
  readonly #random: Random;
  readonly #server: FaultServer;
  readonly #followers: Follower<ConfigMap>[] = [];
  readonly #backups: Snapshot[] = [];
  restores = 0;
  /** How often something was broken: what excuses a request. */
  interruptions = 0;

  constructor(random: Random, server: FaultServer) {
    this.#random = random;
    this.#server = server;
  }

  follow(): Follower<ConfigMap> {
    const follower = new Follower<ConfigMap>();
    this.#followers.push(follower);
    return follower;
  }

  /** Lets the cache have its turn: for no time at all, a moment, or long enough to catch up. */
  async breathe(): Promise<void> {
    const chance = this.#random();
    if (chance < 0.2) return;
    if (chance < 0.4) await new Promise((resolve) => setImmediate(resolve));
    else await sleep(systemClock, chance < 0.9 ? this.#upTo(4) : this.#upTo(40));
  }

  async step(): Promise<void> {
    const actions: [weight: number, act: () => void | Promise<void>][] = [
      [30, () => this.#write()],
      [4, () => this.burst()],
      [2, () => this.#server.store.advance(this.#upTo(10))],
      [2, () => this.#server.bookmark()],
      [2, () => this.#compact()],
      [2, () => void this.#backups.push(this.#server.store.snapshot())],
      [6, () => this.#breakWatches()],
      [8, () => this.#fault()],
      [2, () => this.#restart(false)],
      [2, () => this.#restart(true)],
    ];
    let at = this.#random() * actions.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, act] of actions) {
      at -= weight;
      if (at < 0) return await act();
    }
  }

  #write(key: { name?: string; namespace?: string } = {}): void {
    const metadata = {
      name: key.name ?? this.#pick(["a", "b", "c", "d", "e", "f"]),
      namespace: key.namespace ?? this.#pick(["one", "two"]),
      labels: { tier: this.#pick(["edge", "cloud"]) },
    };
    const object = { metadata, data: { value: String(this.#random()), text: "峡湾".repeat(this.#upTo(20)) } };
    const present = this.#server.store.get("configmaps", `${metadata.namespace}/${metadata.name}`) !== undefined;
    if (!present) this.#server.create(configMaps, object);
    else if (this.#random() < 0.65) this.#server.update(configMaps, object);
    else {
      this.#server.delete(configMaps, metadata);
      if (this.#random() < 0.4) this.#server.create(configMaps, object);
    }
  }

  /** A few writes with nothing in between. */
  burst(): void {
    for (let count = this.#upTo(8); count > 0; count--) this.#write();
  }

  #compact(): void {
    this.interruptions++;
    this.#server.store.compact();
  }

  #breakWatches(): void {
    this.interruptions++;
    this.#server.breakWatches(this.#pick(["close", "reset", "silence", "gone", "truncate"] satisfies Break[]));
  }

  #fault(): void {
    const afterEvents = this.#upTo(3) - 1;
    const fault = this.#pick<Fault>([
      { type: "status", status: this.#pick([401, 403, 410, 500, 503, 504]) },
      { type: "reset", afterEvents },
      { type: "silence", afterEvents },
      { type: "close", afterEvents },
      { type: "gone", afterEvents },
      { type: "truncate", afterEvents },
      { type: "duplicate" },
      { type: "delay", ms: this.#upTo(20) },
      { type: "split" },
      { type: "trickle", ms: 0 },
      { type: "expire-continue" },
    ]);
    const times = this.#upTo(3);
    this.interruptions += times;
    this.#server.fault(fault, { on: { verb: this.#pick(["list", "watch"] as const) }, times, skip: this.#upTo(2) - 1 });
  }

  /** With a backup, other writes may take the lost revisions, and more, before anyone can look. */
  async #restart(restored: boolean): Promise<void> {
    this.interruptions++;
    await this.#server.down();
    const backup = this.#pick(this.#backups);
    // As long as no process could be replaced between two requests that follow on one another.
    await sleep(systemClock, 25);
    if (restored && backup !== undefined) {
      this.restores++;
      const { store } = this.#server;
      const lost = backup.revision < store.compacted ? [] : store.changesSince("configmaps", backup.revision);
      store.restore(backup);
      for (const follower of this.#followers) follower.historyChanged();
      // The same objects at the same revisions, with other content: the hardest to tell from what was there.
      if (this.#random() < 0.5) for (const { object } of lost) this.#write(object.metadata);
      if (this.#random() < 0.5) this.burst();
      if (this.#random() < 0.3) this.#server.store.advance(this.#upTo(30));
    }
    await this.#server.up();
  }

  #upTo(most: number): number {
    return 1 + Math.floor(this.#random() * most);
  }

  #pick<const V>(values: readonly V[]): V {
    return values[Math.floor(this.#random() * values.length)] as V;
  }
}

async function runSchedule(seed: number) {
  const random = seededRandom(seed);
  await using server = await FaultServer.start({ random: seededRandom(seed + 1), bookmarkIntervalMs: 15 });
  const schedule = new Schedule(random, server);
  const options = optionsFor(random);
  const steps = 20 + Math.floor(random() * 50);
  for (let step = Math.floor(random() * 8); step > 0; step--) await schedule.step();
  await using running = runCache(server, { ...options, random: seededRandom(seed + 2) });
  const { cache } = running;
  const first = schedule.follow();
  cache.addHandler(first);
  const truth = () => server.list(configMaps).filter(inScope(options.scope));
  const equal = (objects: readonly ConfigMap[]) => sameContent(objects.toSorted(byKey), truth().toSorted(byKey));
  const standsAtTruth = () => cache.health.resourceVersion === String(server.store.revision);
  let late: Follower<ConfigMap> | undefined;
  for (let step = 0; step < steps; step++) {
    await schedule.step();
    await schedule.breathe();
    if (schedule.restores === 0 && standsAtTruth()) assert.ok(equal(cache.list()), situation(server, running));
    if (step !== 10) continue;
    late = schedule.follow();
    late.late = true;
    cache.addHandler(late);
  }
  server.heal();
  // Without a watch it may equal the truth by chance, and stand at a revision of a history that was taken back.
  const isCurrent = () => server.openWatches > 0 && cache.hasSynced && equal(cache.list());
  await until("the cache equals the truth", isCurrent).catch((cause) => {
    throw new Error(situation(server, running), { cause });
  });
  // In health again, every kind of event has to tell: what stands at the revision of the truth is the truth at once.
  for (let write = 0; write < 3; write++) {
    schedule.burst();
    server.bookmark();
    await until("the cache stands at the last revision", standsAtTruth);
    assert.ok(equal(cache.list()), situation(server, running));
  }
  for (const follower of [first, late]) {
    if (follower === undefined) continue;
    assert.deepEqual(follower.complaints, []);
    assert.ok(equal([...follower.state.values()]), "what the handler was told does not add up to the truth");
  }
  // A look back, a list of some pages with their repetitions, a watch: more than that for each interruption is a storm.
  const bound = (schedule.interruptions + 2) * 20;
  assert.ok(server.requests.count() <= bound, `${server.requests.count()} requests, at most ${bound} expected`);
  return { steps, requests: server.requests.count(), calls: first.calls, restores: schedule.restores };
}

/** What a person wants to see who looks for the reason of a failure. */
function situation(server: FaultServer, { cache }: RunningCache): string {
  const recent = [...server.requests].slice(-8).map(({ at, verb, query }) => `${at % 100_000} ${verb} ${query}`);
  const { lastError, ...health } = cache.health;
  const described = { ...health, lastError: describeError(lastError?.error), openWatches: server.openWatches };
  const versions = (objects: readonly ConfigMap[]) => objects.toSorted(byKey).map(versionOf).join(" ");
  return [
    JSON.stringify(described),
    `cache: ${versions(cache.list())}`,
    `truth: ${versions(server.list(configMaps))} of ${server.store.revision}`,
    ...recent,
  ].join("\n");
}

function optionsFor(random: Random): RunOptions & { scope: Scope } {
  const scopes: Scope[] = [{}, {}, { namespace: "one" }, { labelSelector: "tier=edge" }];
  return {
    scope: scopes[Math.floor(random() * scopes.length)] ?? {},
    timing: {
      pageSize: 1 + Math.floor(random() * 6),
      backoffInitialMs: 2,
      backoffMaxMs: 20,
      stableMs: 30,
      idleTimeoutMs: 250,
      listTimeoutMs: 1_000,
    },
  };
}

function inScope(scope: Scope): (object: ConfigMap) => boolean {
  return ({ metadata }) =>
    (scope.namespace === undefined || metadata.namespace === scope.namespace) &&
    (scope.labelSelector === undefined || metadata.labels?.tier === "edge");
}

function byKey(a: ConfigMap, b: ConfigMap): number {
  return keyTextOf(a) < keyTextOf(b) ? -1 : 1;
}
