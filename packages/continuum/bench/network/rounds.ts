/** Values that are taken in turn, so that all see the same machine. */
export interface Rounds<K extends string, T> {
  /** Gives the values of one key, one after the other; whoever is first has the next round taken. */
  reader(key: K): () => Promise<T>;
}

export function inTurn<K extends string, T>(keys: readonly K[], take: (key: K) => Promise<T>): Rounds<K, T> {
  return together(async (number) => {
    const values = new Map<K, T>();
    // None is always the first.
    const order = keys.map((_, i) => keys[(i + number) % keys.length] as K);
    for (const key of order) values.set(key, await take(key));
    return values;
  });
}

/** Values that one measurement has for all keys. */
export function together<K extends string, T>(round: (number: number) => Promise<ReadonlyMap<K, T>>): Rounds<K, T> {
  const rounds: ReadonlyMap<K, T>[] = [];
  return {
    reader(key) {
      let next = 0;
      return async () => {
        const index = next++;
        while (rounds.length <= index) rounds.push(await round(rounds.length));
        return rounds[index]?.get(key) as T;
      };
    },
  };
}
