/** How much of everything; the sizes of the published figures unless the environment says otherwise. */
export interface Settings {
  /** Pods in the store when memory and lists are measured, growing. */
  readonly pods: readonly number[];
  /** By all lists of one size together. */
  readonly listedPods: number;
  readonly gets: number;
  readonly watchers: number;
  /** Writes that every watcher is told of. */
  readonly watchedWrites: number;
  /** Watchers of a figure of their own: as many as a server is likely to have at most. */
  readonly crowd: number;
  /** Writes that each of them is told of. */
  readonly crowdWrites: number;
  readonly deployments: number;
  readonly rounds: number;
  /** Between the end of work and the look at memory. */
  readonly restSeconds: number;
  readonly durabilities: readonly Durability[];
  /** For whole control planes, which take longer. */
  readonly wholeDurabilities: readonly Durability[];
}

export type Durability = "with fsync" | "without fsync";

const full: Settings = {
  pods: [1_000, 10_000],
  listedPods: 60_000,
  gets: 20_000,
  watchers: 500,
  watchedWrites: 200,
  crowd: 5_000,
  crowdWrites: 10,
  deployments: 100,
  rounds: 2,
  restSeconds: 6,
  durabilities: ["with fsync", "without fsync"],
  wholeDurabilities: ["with fsync", "without fsync"],
};

const short: Settings = {
  ...full,
  pods: [1_000],
  listedPods: 20_000,
  gets: 3_000,
  watchers: 100,
  watchedWrites: 50,
  crowd: 500,
  deployments: 20,
  rounds: 1,
  restSeconds: 3,
  wholeDurabilities: ["without fsync"],
};

export function readSettings(env: NodeJS.ProcessEnv): Settings {
  const base = env.FJORD_BENCH_SHORT === "1" ? short : full;
  return {
    ...base,
    pods: env.FJORD_BENCH_PODS === undefined ? base.pods : env.FJORD_BENCH_PODS.split(",").map(positive),
    gets: positive(env.FJORD_BENCH_GETS ?? base.gets),
    watchers: positive(env.FJORD_BENCH_WATCHERS ?? base.watchers),
    watchedWrites: positive(env.FJORD_BENCH_WATCHED_WRITES ?? base.watchedWrites),
    crowd: positive(env.FJORD_BENCH_CROWD ?? base.crowd),
    deployments: positive(env.FJORD_BENCH_DEPLOYMENTS ?? base.deployments),
    rounds: positive(env.FJORD_BENCH_ROUNDS ?? base.rounds),
    restSeconds: positive(env.FJORD_BENCH_REST ?? base.restSeconds),
  };
}

function positive(value: string | number): number {
  const number = Number(value);
  if (!Number.isInteger(number) || number < 1) throw new Error(`${value} is not a whole number above 0`);
  return number;
}
