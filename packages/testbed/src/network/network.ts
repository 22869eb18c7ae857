import type { Clock, Random } from "@fjord/base";
import { NoSuchPathError } from "../errors.ts";
import { clearLane, Lane, type LaneShape } from "./lane.ts";
import { Path } from "./path.ts";
import type { Endpoint } from "./relay.ts";

export interface NetworkOptions {
  sites: readonly string[];
  /** The address on which the first finds the second. */
  address(from: string, to: string): string;
  clock: Clock;
  random: Random;
}

/** What can be done to a network, by the program that holds it or from another one. */
export interface NetworkControl {
  /**
   * Stops all bytes between two sites; connections stay open, and what was sent arrives after `heal`. It takes the place
   * of whatever an earlier cut did to the directions that it concerns, and leaves the others as they are.
   */
  cut(from: string, to: string, options?: CutOptions): Promise<void>;
  /** Takes back what `cut` did. Latency and bandwidth stay. */
  heal(from: string, to: string, options?: Direction): Promise<void>;
  /** Changes latency (milliseconds each way), jitter or bandwidth (bytes a second each way). */
  shape(from: string, to: string, shape: Partial<LaneShape>, options?: Direction): Promise<void>;
  /** As new: no delay, no limit, no cut, anywhere. */
  reset(): Promise<void>;
  /** Makes a target of `to` reachable for `from`, and gives the address to reach it by. */
  expose(from: string, to: string, target: Endpoint, port?: number): Promise<Endpoint>;
  /** Takes back what `expose` did, and resets the connections made through it. */
  unexpose(from: string, to: string, target: Endpoint): Promise<void>;
  status(): Promise<LaneStatus[]>;
  close(): Promise<void>;
}

export interface Direction {
  /** Only from the first site to the second. @default false */
  oneWay?: boolean;
}

export interface CutOptions extends Direction {
  /**
   * Reset connections and refuse new ones, as a firewall that rejects does, instead of falling silent. One way, this
   * concerns the connections that the first site opens.
   */
  reset?: boolean;
}

/** How one direction is doing. */
export interface LaneStatus extends LaneShape {
  readonly from: string;
  readonly to: string;
  readonly state: "open" | "cut" | "refusing";
  /** Bytes that arrived. */
  readonly delivered: number;
  /** Open connections that `from` made. */
  readonly connections: number;
  /** What of `to` there is for `from` to call. */
  readonly exposed: readonly Exposure[];
}

export interface Exposure {
  readonly target: Endpoint;
  /** Where `from` reaches it. */
  readonly address: Endpoint;
}

/** Everything between the sites of a bed. */
export class Network implements NetworkControl {
  readonly #options: NetworkOptions;
  readonly #lanes = new Map<string, Lane>();
  readonly #paths = new Map<string, Path>();

  constructor(options: NetworkOptions) {
    this.#options = options;
    const { sites, clock, random } = options;
    const pairs = sites.flatMap((from) => sites.filter((to) => to !== from).map((to) => [from, to] as const));
    for (const [from, to] of pairs) this.#lanes.set(pairKey(from, to), new Lane(clock, random));
    for (const [from, to] of pairs) {
      this.#paths.set(
        pairKey(from, to),
        // Both sites' connections share the lanes between them, as they would share a cable.
        new Path({
          from,
          to,
          address: options.address(from, to),
          forth: this.#lane(from, to),
          back: this.#lane(to, from),
          clock,
        }),
      );
    }
  }

  get paths(): readonly Path[] {
    return [...this.#paths.values()];
  }

  path(from: string, to: string): Path {
    const path = this.#paths.get(pairKey(from, to));
    if (path === undefined) throw new NoSuchPathError({ from, to, sites: this.#options.sites.join(", ") });
    return path;
  }

  async cut(from: string, to: string, options: CutOptions = {}): Promise<void> {
    const directions = this.#directions(from, to, options);
    // The new cut begins before the old one ends: nothing passes in between.
    if (options.reset) {
      for (const [a, b] of directions) await this.path(a, b).refuse();
      for (const [a, b] of directions) this.#lane(a, b).setCut(false);
    } else {
      for (const [a, b] of directions) this.#lane(a, b).setCut(true);
      for (const [a, b] of directions) await this.path(a, b).accept();
    }
  }

  async heal(from: string, to: string, options: Direction = {}): Promise<void> {
    for (const [a, b] of this.#directions(from, to, options)) {
      this.#lane(a, b).setCut(false);
      await this.path(a, b).accept();
    }
  }

  async shape(from: string, to: string, shape: Partial<LaneShape>, options: Direction = {}): Promise<void> {
    for (const [a, b] of this.#directions(from, to, options)) this.#lane(a, b).change(shape);
  }

  async reset(): Promise<void> {
    for (const { from, to } of this.paths) {
      this.#lane(from, to).change(clearLane);
      await this.heal(from, to, { oneWay: true });
    }
  }

  async expose(from: string, to: string, target: Endpoint, port?: number): Promise<Endpoint> {
    return this.path(from, to).expose(target, port);
  }

  async unexpose(from: string, to: string, target: Endpoint): Promise<void> {
    await this.path(from, to).unexpose(target);
  }

  async status(): Promise<LaneStatus[]> {
    return this.paths.map((path) => ({
      from: path.from,
      to: path.to,
      ...path.forth.shape,
      state: path.forth.cut ? "cut" : path.refusing ? "refusing" : "open",
      delivered: path.forth.delivered,
      connections: path.relays.reduce((sum, relay) => sum + relay.connections.open, 0),
      exposed: path.relays.map(({ target, address }) => ({ target, address })),
    }));
  }

  async close(): Promise<void> {
    await Promise.all(this.paths.map((path) => path.close()));
  }

  #directions(from: string, to: string, { oneWay = false }: Direction): [string, string][] {
    this.path(from, to);
    return oneWay
      ? [[from, to]]
      : [
          [from, to],
          [to, from],
        ];
  }

  #lane(from: string, to: string): Lane {
    const lane = this.#lanes.get(pairKey(from, to));
    if (lane === undefined) throw new NoSuchPathError({ from, to, sites: this.#options.sites.join(", ") });
    return lane;
  }
}

function pairKey(from: string, to: string): string {
  return `${from} ${to}`;
}
