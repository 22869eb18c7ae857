import type { Clock } from "@fjord/base";
import { NotExposedError } from "../errors.ts";
import type { Lane } from "./lane.ts";
import { type Endpoint, Relay } from "./relay.ts";

export interface PathOptions {
  from: string;
  to: string;
  /** The address on which `from` finds `to`. */
  address: string;
  /** From `from` to `to`, and back. */
  forth: Lane;
  back: Lane;
  clock: Clock;
}

/** The only way in which one site reaches another: connections that `from` opens, to whatever `to` exposes. */
export class Path {
  readonly #options: PathOptions;
  readonly #relays = new Map<string, Relay>();
  #refusing = false;

  constructor(options: PathOptions) {
    this.#options = options;
  }

  get from(): string {
    return this.#options.from;
  }

  get to(): string {
    return this.#options.to;
  }

  get forth(): Lane {
    return this.#options.forth;
  }

  get back(): Lane {
    return this.#options.back;
  }

  get refusing(): boolean {
    return this.#refusing;
  }

  get relays(): readonly Relay[] {
    return [...this.#relays.values()];
  }

  /** Makes a target of `to` reachable for `from`, and gives the address to reach it by. Twice gives the same one. */
  async expose(target: Endpoint, port = 0): Promise<Endpoint> {
    let relay = this.#relays.get(nameOf(target));
    if (relay === undefined) {
      const { address, forth, back, clock } = this.#options;
      relay = new Relay({ listen: { host: address, port }, target, forth, back, clock });
      // Without a port of its own it has to listen once to get one.
      if (!this.#refusing || port === 0) await relay.open();
      this.#relays.set(nameOf(target), relay);
      if (this.#refusing) await relay.refuse();
    }
    return relay.address;
  }

  /** Takes back what `expose` did. */
  async unexpose(target: Endpoint): Promise<void> {
    const relay = this.#relays.get(nameOf(target));
    if (relay === undefined) {
      const exposed = [...this.#relays.keys()].join(", ") || "nothing";
      throw new NotExposedError({ from: this.from, to: this.to, target: nameOf(target), exposed });
    }
    this.#relays.delete(nameOf(target));
    await relay.refuse();
  }

  /** Resets every connection, and refuses new ones until `accept`. */
  async refuse(): Promise<void> {
    this.#refusing = true;
    await Promise.all(this.relays.map((relay) => relay.refuse()));
  }

  async accept(): Promise<void> {
    this.#refusing = false;
    await Promise.all(this.relays.map((relay) => relay.open()));
  }

  async close(): Promise<void> {
    await Promise.all(this.relays.map((relay) => relay.refuse()));
    this.#relays.clear();
  }
}

function nameOf({ host, port }: Endpoint): string {
  return `${host}:${port}`;
}
