/**
 * How much memory the caches of one server may take together. For servers that are not trusted: what they send without end
 * is not kept without end. A list is taken over when it is whole, so that for a moment it may be there twice.
 */
export class CacheRoom {
  readonly bytes: number;
  /** Whose it is, for the words of an error. */
  readonly server: string;
  #taken = 0;

  constructor(bytes: number, server = "the server") {
    this.bytes = bytes;
    this.server = server;
  }

  get taken(): number {
    return this.#taken;
  }

  /** Less than nothing gives back. */
  take(bytes: number): void {
    this.#taken += bytes;
  }
}
