import { amountsOf, quantitiesOf, type ResourceAmounts } from "@fjord/node/pod-status";

interface Entry {
  readonly contract: string;
  readonly amounts: ResourceAmounts;
}

const ONE_POD = 1_000_000_000n;

/**
 * What guests take of each contract: of pods that exist, and of those about to. Taking is one step, so that two who ask
 * at once are never both given the last of it.
 */
export class RoomLedger {
  readonly #entries = new Map<string, Entry>();
  readonly #sums = new Map<string, Map<string, bigint>>();

  /** What the guest at `key` takes from now on, in place of what it took. */
  set(key: string, contract: string, requests: ResourceAmounts): void {
    this.delete(key);
    const amounts = new Map(requests).set("pods", ONE_POD);
    this.#entries.set(key, { contract, amounts });
    const sums = this.#sums.get(contract) ?? new Map<string, bigint>();
    for (const [name, amount] of amounts) sums.set(name, (sums.get(name) ?? 0n) + amount);
    this.#sums.set(contract, sums);
  }

  delete(key: string): boolean {
    const entry = this.#entries.get(key);
    if (entry === undefined) return false;
    this.#entries.delete(key);
    const sums = this.#sums.get(entry.contract);
    for (const [name, amount] of entry.amounts) {
      const left = (sums?.get(name) ?? 0n) - amount;
      if (left === 0n) sums?.delete(name);
      else sums?.set(name, left);
    }
    if (sums?.size === 0) this.#sums.delete(entry.contract);
    return true;
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  /** What guests take under any of the contracts that `isOfLine` says are one. */
  used(isOfLine: (contract: string) => boolean): ResourceAmounts {
    const used = new Map<string, bigint>();
    for (const [contract, sums] of this.#sums) {
      if (!isOfLine(contract)) continue;
      for (const [name, amount] of sums) used.set(name, (used.get(name) ?? 0n) + amount);
    }
    return used;
  }

  /** Of which resource there is too little for one more guest; undefined where it fits. Its own earlier entry is free. */
  lacking(
    key: string,
    requests: ResourceAmounts,
    promised: Readonly<Record<string, string | number>>,
    isOfLine: (contract: string) => boolean,
  ): string | undefined {
    const used = this.used(isOfLine);
    const own = this.#entries.get(key);
    const ownAmounts = own !== undefined && isOfLine(own.contract) ? own.amounts : new Map<string, bigint>();
    const limits = amountsOf(promised);
    for (const [name, amount] of new Map(requests).set("pods", ONE_POD)) {
      const limit = limits.get(name);
      // Of pods alone a contract may say nothing, and then there may be any number.
      if (amount <= 0n || (limit === undefined && name === "pods")) continue;
      const taken = (used.get(name) ?? 0n) - (ownAmounts.get(name) ?? 0n);
      if (limit === undefined) return `the contract promises no ${name}`;
      if (taken + amount <= limit) continue;
      const text = (value: bigint) => quantitiesOf(new Map([[name, value]]))[name];
      return `${text(amount)} ${name} asked for, ${text(taken)} of ${text(limit)} taken`;
    }
    return undefined;
  }
}
