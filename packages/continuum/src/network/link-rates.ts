/** Bytes that a link has carried so far. */
export interface CarriedBytes {
  readonly receivedBytes: number;
  readonly sentBytes: number;
}

/** Bytes in a second, since it was last told. */
export interface LinkRate {
  readonly receivedPerSecond: number;
  readonly sentPerSecond: number;
}

/** How much links carry in a second, out of what they have carried so far. */
export class LinkRates {
  readonly #told = new Map<string, CarriedBytes & { readonly at: number }>();

  /** Since `told` was last called for it; undefined before that. Times are in milliseconds. */
  of(name: string, { receivedBytes, sentBytes }: CarriedBytes, at: number): LinkRate | undefined {
    const last = this.#told.get(name);
    if (last === undefined || at <= last.at) return undefined;
    // WireGuard counts from 0 when it starts anew.
    const isNew = receivedBytes < last.receivedBytes || sentBytes < last.sentBytes;
    const perSecond = (now: number, before: number) =>
      Math.round(((now - (isNew ? 0 : before)) / (at - last.at)) * 1000);
    return {
      receivedPerSecond: perSecond(receivedBytes, last.receivedBytes),
      sentPerSecond: perSecond(sentBytes, last.sentBytes),
    };
  }

  /** Of others nothing will come. */
  keepOnly(names: ReadonlySet<string>): void {
    for (const name of this.#told.keys()) if (!names.has(name)) this.#told.delete(name);
  }

  told(name: string, { receivedBytes, sentBytes }: CarriedBytes, at: number): void {
    this.#told.set(name, { receivedBytes, sentBytes, at });
  }
}
