import { type Random, seededRandom } from "@fjord/base";
import { after, emptyModel, type Model, type NamespaceModel } from "./model.ts";
import { BONDS, NAMESPACES, SHARED_CPU, SITES } from "./topology.ts";
import type { Data, Place, PodsStrategy, Step, Trouble, UserAction, Workload } from "./wishes.ts";

export interface PlanOptions {
  readonly seed: number;
  /** How long steps go on. */
  readonly ms: number;
  /** Mean milliseconds between two wishes of users. @default 900 */
  readonly wishEvery?: number;
  /** Mean milliseconds between two troubles. @default 2500 */
  readonly troubleEvery?: number;
}

export interface Plan {
  readonly steps: readonly Step[];
  /** What users have asked for when all steps are done. */
  readonly model: Model;
  /** What befalls the agents while everything is unpeered, counted from its beginning. */
  readonly farewell: readonly Step[];
}

/** Everything that will be done, and when: a pure function of the seed and the length. */
export function makePlan({ seed, ms, wishEvery = 900, troubleEvery = 2_500 }: PlanOptions): Plan {
  // Two sources, so that other troubles leave the users' wishes as they are.
  const users = new Dice(seededRandom(seed));
  const fate = new Dice(seededRandom(seed ^ 0x5eed));
  const planner = new Planner(users);
  const unnumbered: Omit<Step, "number">[] = planner.beginning().map((action) => ({ at: 0, action }));
  for (let at = users.around(wishEvery); at < ms; at += users.around(wishEvery)) {
    const action = planner.next();
    unnumbered.push({ at, action });
    // What is closed is opened soon, or all pods would end up at home.
    const opened = at + users.around(6_000);
    if (action.do === "stand" && opened < ms) unnumbered.push({ at: opened, action: { ...action, standing: "Open" } });
  }
  unnumbered.push(...troubles(fate, ms, troubleEvery));
  const steps = unnumbered.toSorted((a, b) => a.at - b.at).map((step, i) => ({ ...step, number: i + 1 }));
  return { steps, model: planner.model, farewell: farewell(new Dice(seededRandom(seed ^ 0xfa2e))) };
}

/** By how many milliseconds each site's clock is ahead: by more than a contract lives, some of them. */
export function clocksOf(seed: number): Readonly<Record<string, number>> {
  const dice = new Dice(seededRandom(seed ^ 0xc10c));
  return Object.fromEntries(SITES.map((site) => [site, dice.one([0, 45_000, -45_000, 240_000, -240_000])]));
}

function farewell(dice: Dice): Step[] {
  return [1, 2, 3].map((number) => {
    const at = number * 3_000 + dice.below(3_000);
    const kill = { is: "kill", site: dice.one(SITES), process: "fjord-agent", ms: dice.one([100, 1_000]) } as const;
    return { number, at, trouble: kill };
  });
}

class Dice {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  below(bound: number): number {
    return Math.floor(this.#random() * bound);
  }

  between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  around(mean: number): number {
    return Math.round(mean * (0.3 + 1.4 * this.#random()));
  }

  one<T>(of: readonly T[]): T {
    return of[this.below(of.length)] as T;
  }

  /** One of them, as often as its weight says. */
  weighed<T>(of: readonly (readonly [number, T])[]): T {
    let left = this.#random() * of.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, each] of of) {
      left -= weight;
      if (left < 0) return each;
    }
    return (of.at(-1) as readonly [number, T])[1];
  }
}

class Planner {
  readonly #dice: Dice;
  model: Model = emptyModel();
  #names = 0;

  constructor(dice: Dice) {
    this.#dice = dice;
  }

  /** So that there is something to break from the first second. */
  beginning(): UserAction[] {
    const wishes = NAMESPACES.flatMap((place, i): UserAction[] => {
      const [config, secret] = [this.#name("config"), this.#name("secret")];
      const names = { config, secret };
      return [
        { do: "offload", in: place, pods: i % 2 === 0 ? "Both" : "Remote" },
        { do: "put", in: place, what: { kind: "ConfigMap", name: config, version: 1, always: false } },
        { do: "put", in: place, what: { kind: "Secret", name: secret, version: 1, always: false } },
        { do: "put", in: place, what: { kind: "Service", name: this.#name("service"), version: 1 } },
        {
          do: "put",
          in: place,
          what: { kind: "Deployment", name: this.#name("deployment"), replicas: 3, version: 1, ...names },
        },
      ];
    });
    return wishes.map((wish) => this.#wished(wish));
  }

  next(): UserAction {
    const dice = this.#dice;
    return this.#wished(
      dice.weighed<() => UserAction>([
        [5, () => this.#create()],
        [6, () => this.#update()],
        [4, () => this.#remove()],
        [1.5, () => this.#offloadOrNot()],
        [0.25, () => ({ do: "renew", in: dice.one(NAMESPACES) })],
        [0.5, () => ({ do: "resize", ...dice.one(BONDS), cpu: dice.one([8, 12, 20, 30, SHARED_CPU, SHARED_CPU + 5]) })],
        [
          0.6,
          () => ({
            do: "stand",
            ...dice.one(BONDS),
            side: dice.one(["consumer", "provider"] as const),
            standing: dice.weighed([
              [3, "Cordoned"],
              [1, "Drained"],
            ] as const),
          }),
        ],
      ])(),
    );
  }

  #wished(action: UserAction): UserAction {
    this.model = after(this.model, action);
    return action;
  }

  #create(): UserAction {
    const dice = this.#dice;
    const space = this.#space();
    // The machine has two cores, and a long run is to be no fuller than a short one.
    const surplus = space.workloads.size >= MOST ? this.#any(space, () => true) : undefined;
    if (surplus !== undefined)
      return { do: "remove", in: placeOf(space), what: { kind: surplus.kind, name: surplus.name } };
    const config = this.#existing(space, "ConfigMap");
    const secret = this.#existing(space, "Secret");
    const kind = dice.weighed([
      [4, "Deployment"],
      [2, "StatefulSet"],
      [3, "Job"],
      [3, "Pod"],
      [2, "ConfigMap"],
      [2, "Secret"],
      [2, "Service"],
    ] as const);
    const name = this.#name(kind.toLowerCase());
    const what = ((): Workload => {
      switch (kind) {
        case "Deployment":
        case "StatefulSet":
          return { kind, name, replicas: dice.between(1, 4), version: 1, ...config, ...secret };
        case "Job":
          return { kind, name, completions: dice.between(1, 3) };
        case "Pod":
          return { kind, name, version: 1, ...config };
        case "Service":
          return { kind, name, version: 1 };
        default:
          return { kind, name, version: 1, always: dice.below(3) === 0 };
      }
    })();
    return { do: "put", in: placeOf(space), what };
  }

  #update(): UserAction {
    const dice = this.#dice;
    const space = this.#space();
    const what = this.#any(space, ({ kind }) => kind !== "Job");
    if (what === undefined || what.kind === "Job") return this.#create();
    if (what.kind === "Pod") {
      const next = { ...what, version: what.version + 1 };
      return dice.below(2) === 0
        ? { do: "replace", in: placeOf(space), what: next }
        : { do: "remove", in: placeOf(space), what };
    }
    if (what.kind === "Deployment" || what.kind === "StatefulSet") {
      const scaled = { ...what, replicas: dice.between(0, 5) };
      const rolled = { ...what, version: what.version + 1 };
      return { do: "put", in: placeOf(space), what: dice.below(3) === 0 ? rolled : scaled };
    }
    return { do: "put", in: placeOf(space), what: { ...what, version: what.version + 1 } };
  }

  #remove(): UserAction {
    const space = this.#space();
    const what = this.#any(space, () => true);
    if (what === undefined || (space.workloads.size < 5 && this.#dice.below(3) > 0)) return this.#create();
    return { do: "remove", in: placeOf(space), what: { kind: what.kind, name: what.name } };
  }

  #offloadOrNot(): UserAction {
    // Most namespaces are to be offloaded at any time: what is at home alone tells nothing.
    const atHome = [...this.model.values()].filter(({ offloaded }) => offloaded === undefined);
    const space = atHome.length > 0 && this.#dice.below(4) > 0 ? this.#dice.one(atHome) : this.#space();
    if (space.offloaded !== undefined) return { do: "unoffload", in: placeOf(space) };
    const pods = this.#dice.weighed<PodsStrategy>([
      [4, "Both"],
      [4, "Remote"],
      [1, "Local"],
    ]);
    return { do: "offload", in: placeOf(space), pods };
  }

  #space(): NamespaceModel {
    return this.#dice.one([...this.model.values()]);
  }

  #any(space: NamespaceModel, suits: (workload: Workload) => boolean): Workload | undefined {
    const suiting = [...space.workloads.values()].filter(suits);
    return suiting.length === 0 ? undefined : this.#dice.one(suiting);
  }

  #existing(space: NamespaceModel, kind: Data["kind"]): { config?: string; secret?: string } {
    const found = this.#any(space, (each) => each.kind === kind);
    if (found === undefined) return {};
    return kind === "ConfigMap" ? { config: found.name } : { secret: found.name };
  }

  #name(prefix: string): string {
    return `${prefix}-${++this.#names}`;
  }
}

function placeOf({ site, name }: NamespaceModel): Place {
  return { site: site as Place["site"], name };
}

/** Workloads in a namespace. */
const MOST = 14;

const PROCESSES = [
  [6, "fjord-agent"],
  [2, "kube-apiserver"],
  [1, "etcd"],
  [1, "kube-controller-manager"],
  [1, "kube-scheduler"],
] as const;

/** No two at once on the same process or between the same sites: each is over before the next. */
function troubles(dice: Dice, ms: number, every: number): Omit<Step, "number">[] {
  const found: Omit<Step, "number">[] = [];
  const busyUntil = new Map<string, number>();
  for (let at = dice.around(every); at < ms; at += dice.around(every)) {
    const trouble = oneTrouble(dice);
    const target = "site" in trouble ? `${trouble.site}/${trouble.process}` : [trouble.from, trouble.to].sort().join();
    if ((busyUntil.get(target) ?? 0) > at) continue;
    busyUntil.set(target, at + trouble.ms + 3_000);
    found.push({ at, trouble });
  }
  return found;
}

function oneTrouble(dice: Dice): Trouble {
  const is = dice.weighed([
    [6, "kill"],
    [2, "pause"],
    [2, "silence"],
    [1.5, "one-way"],
    [1.5, "reset"],
    [1, "slow"],
  ] as const);
  if (is === "kill" || is === "pause") {
    const ms = dice.one([100, 500, 2_000, 5_000, 9_000]);
    return { is, site: dice.one(SITES), process: dice.weighed(PROCESSES), ms };
  }
  const from = dice.one(SITES);
  const to = dice.one(SITES.filter((site) => site !== from));
  const ms = dice.one([500, 1_500, 4_000, 8_000, 15_000]);
  return { is, from, to, latency: dice.one([10, 50, 200]), ms };
}
