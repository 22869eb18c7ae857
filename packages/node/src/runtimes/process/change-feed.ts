/** Tells everyone who follows which keys have changed; a key that changes again before it was taken is told once. */
export class ChangeFeed {
  readonly #followers = new Set<{ keys: Set<string>; wake: () => void }>();

  emit(key: string): void {
    for (const follower of this.#followers) {
      follower.keys.add(key);
      follower.wake();
    }
  }

  follow(signal: AbortSignal): AsyncIterable<string> {
    const follower = { keys: new Set<string>(), wake: () => {} };
    // From now on, not from the first step of the loop: nothing may fall in between.
    this.#followers.add(follower);
    const leave = () => {
      this.#followers.delete(follower);
      follower.wake();
    };
    signal.addEventListener("abort", leave, { once: true });
    return this.#drain(follower, signal, leave);
  }

  async *#drain(
    follower: { keys: Set<string>; wake: () => void },
    signal: AbortSignal,
    leave: () => void,
  ): AsyncGenerator<string> {
    try {
      while (!signal.aborted) {
        for (const key of follower.keys) {
          follower.keys.delete(key);
          yield key;
          if (signal.aborted) return;
        }
        if (follower.keys.size > 0) continue;
        await new Promise<void>((resolve) => {
          follower.wake = resolve;
          if (signal.aborted) resolve();
        });
      }
    } finally {
      signal.removeEventListener("abort", leave);
      leave();
    }
  }
}
