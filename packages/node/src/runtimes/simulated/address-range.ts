import { isIPv4 } from "node:net";
import { InvalidRange, RangeExhausted } from "./errors.ts";

/** IPv4 addresses, of which each is given to one at a time. */
export class AddressRange {
  readonly text: string;
  readonly #first: number;
  readonly #size: number;
  readonly #used = new Set<number>();
  #next = 1;

  constructor(text: string) {
    const [address = "", bits = "", ...more] = text.split("/");
    const length = /^\d{1,2}$/.test(bits) ? Number(bits) : Number.NaN;
    if (!isIPv4(address) || more.length > 0) throw new InvalidRange({ text, problem: "it is not ADDRESS/BITS" });
    if (!(length >= 1 && length <= 30)) throw new InvalidRange({ text, problem: "its bits are not from 1 to 30" });
    this.text = text;
    this.#size = 2 ** (32 - length);
    this.#first = Math.floor(numberOf(address) / this.#size) * this.#size;
  }

  /** How many can be given out: the first and the last stand for the range itself. */
  get capacity(): number {
    return this.#size - 2;
  }

  /** The address at a place, from 1 on, whoever has it. */
  at(index: number): string {
    if (!(index >= 1 && index <= this.capacity)) throw new RangeExhausted({ range: this.text });
    return textOf(this.#first + index);
  }

  /** The place of an address; undefined outside the range. */
  indexOf(address: string): number | undefined {
    if (!isIPv4(address)) return undefined;
    const index = numberOf(address) - this.#first;
    return index >= 1 && index <= this.capacity ? index : undefined;
  }

  /** Gives one that nobody has; what was given back last comes last. */
  take(): string {
    if (this.#used.size >= this.capacity) throw new RangeExhausted({ range: this.text });
    while (this.#used.has(this.#next)) this.#step();
    const index = this.#next;
    this.#used.add(index);
    this.#step();
    return this.at(index);
  }

  /** Somebody has the address already. */
  claim(address: string): void {
    const index = this.indexOf(address);
    if (index !== undefined) this.#used.add(index);
  }

  release(address: string): void {
    const index = this.indexOf(address);
    if (index !== undefined) this.#used.delete(index);
  }

  #step(): void {
    this.#next = this.#next >= this.capacity ? 1 : this.#next + 1;
  }
}

function numberOf(address: string): number {
  return address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
}

function textOf(number: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join(".");
}
