import { InvalidPodRange, PodAddressesExhausted } from "./errors.ts";

/** Gives out the addresses of a range inside 127.0.0.0/8, one to each sandbox; what is in use is told by its owner. */
export class Addresses {
  readonly #range: string;
  readonly #first: number;
  readonly #count: number;
  readonly #used = new Map<string, string>();
  #next = 0;

  constructor(range: string) {
    const { first, count } = parseRange(range);
    this.#range = range;
    this.#first = first;
    this.#count = count;
  }

  /** Notes an address that was given out by an earlier process; false where another owner has it. */
  claim(address: string, owner: string): boolean {
    const holder = this.#used.get(address);
    if (holder !== undefined && holder !== owner) return false;
    this.#used.set(address, owner);
    const place = toNumber(address) - this.#first;
    if (place >= 0 && place < this.#count) this.#next = Math.max(this.#next, place + 1);
    return true;
  }

  /** Goes round the range, so that an address rests before it is used again. */
  allocate(owner: string): string {
    for (let step = 0; step < this.#count; step++) {
      const place = (this.#next + step) % this.#count;
      const address = toText(this.#first + place);
      if (this.#used.has(address)) continue;
      this.#used.set(address, owner);
      this.#next = place + 1;
      return address;
    }
    throw new PodAddressesExhausted({ count: this.#count, range: this.#range });
  }

  release(address: string, owner: string): void {
    if (this.#used.get(address) === owner) this.#used.delete(address);
  }
}

/** The usable addresses of a range: neither its first nor its last, which programs take for network and broadcast. */
export function parseRange(range: string): { first: number; count: number } {
  const match = /^(127(?:\.\d{1,3}){3})\/(\d{1,2})$/.exec(range);
  const prefix = Number(match?.[2]);
  if (!match?.[1] || prefix < 9 || prefix > 30 || match[1].split(".").some((part) => Number(part) > 255)) {
    throw new InvalidPodRange({ range });
  }
  const size = 2 ** (32 - prefix);
  const base = Math.floor(toNumber(match[1]) / size) * size;
  // 127.0.0.1 belongs to the machine itself, and what resolvers listen on is right beside it.
  const first = base === toNumber("127.0.0.0") ? base + 256 : base + 1;
  const count = base + size - 1 - first;
  if (count < 1) throw new InvalidPodRange({ range });
  return { first, count };
}

/**
 * Pods get the first 64th of a node's range, and what stands in for pods of other sites the second half: a machine has only one loopback,
 * and the range is this node's alone there. One that is too small for that is the pods' as a whole.
 */
export function splitRange(range: string): { pods: string; standIns?: string } {
  parseRange(range);
  const [address = "", text] = range.split("/");
  const prefix = Number(text);
  if (prefix > MOST_SPLIT) return { pods: range };
  const size = 2 ** (32 - prefix);
  const base = Math.floor(toNumber(address) / size) * size;
  return { pods: `${toText(base)}/${prefix + 6}`, standIns: `${toText(base + size / 2)}/${prefix + 1}` };
}

/** Of these a 64th still has 62 addresses. */
const MOST_SPLIT = 20;

function toNumber(address: string): number {
  return address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
}

function toText(value: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join(".");
}
