/** Hands out parts of one range of addresses, such as `10.244.0.0/16` in parts of `/24`. IPv4 alone. */
export class RangeParts {
  readonly #first: number;
  readonly #count: number;
  readonly #partBits: number;
  readonly #taken = new Set<number>();

  constructor(range: string, partBits = 24) {
    const [address = "", bits = "32"] = range.split("/");
    this.#partBits = Math.max(partBits, Number(bits));
    this.#first = toNumber(address);
    this.#count = 2 ** (this.#partBits - Number(bits));
  }

  /** Notes that a part is in use. */
  take(part: string): void {
    const index = this.#indexOf(part);
    if (index !== undefined) this.#taken.add(index);
  }

  release(part: string): void {
    const index = this.#indexOf(part);
    if (index !== undefined) this.#taken.delete(index);
  }

  /** The first part that is free, taken from now on; undefined where none is. */
  next(): string | undefined {
    for (let index = 0; index < this.#count; index++) {
      if (this.#taken.has(index)) continue;
      this.#taken.add(index);
      return `${toText(this.#first + index * this.#size)}/${this.#partBits}`;
    }
    return undefined;
  }

  get #size(): number {
    return 2 ** (32 - this.#partBits);
  }

  #indexOf(part: string): number | undefined {
    const index = (toNumber(part.split("/")[0] ?? "") - this.#first) / this.#size;
    return index >= 0 && index < this.#count ? Math.floor(index) : undefined;
  }
}

function toNumber(address: string): number {
  return address.split(".").reduce((number, part) => number * 256 + Number(part), 0);
}

function toText(number: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join(".");
}
