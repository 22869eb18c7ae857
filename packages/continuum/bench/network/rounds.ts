import { median } from "@fjord/testbed/bench";

/** Values that are taken in turn, so that all see the same machine. */
export interface Rounds<K extends string, F extends string> {
  /** Gives one figure of one key, round by round; whoever is first has the next round taken. */
  reader(key: K, figure: F): () => Promise<number>;
}

type Figures<F extends string> = Readonly<Record<F, number>>;

/** A round's figure is the median of so many short pieces, each beside those of the others: what a shared machine does changes from one second to the next. */
const PIECES = 3;

export function inTurn<K extends string, F extends string>(
  keys: readonly K[],
  take: (key: K) => Promise<Figures<F>>,
): Rounds<K, F> {
  return together(async (number) => {
    const taken = new Map<K, Figures<F>[]>(keys.map((key) => [key, []]));
    for (let piece = 0; piece < PIECES; piece++) {
      // None is always the first.
      const order = keys.map((_, i) => keys[(i + piece + number) % keys.length] as K);
      for (const key of order) taken.get(key)?.push(await take(key));
    }
    return new Map([...taken].map(([key, pieces]) => [key, medians(pieces)]));
  });
}

function medians<F extends string>(pieces: readonly Figures<F>[]): Figures<F> {
  const figures = Object.keys(pieces[0] ?? {}) as F[];
  const each = figures.map((figure) => [figure, median(pieces.map((piece) => piece[figure]))]);
  return Object.fromEntries(each) as Figures<F>;
}

/** Values that one measurement has for all keys. */
export function together<K extends string, F extends string>(
  round: (number: number) => Promise<ReadonlyMap<K, Figures<F>>>,
): Rounds<K, F> {
  const rounds: ReadonlyMap<K, Figures<F>>[] = [];
  return {
    reader(key, figure) {
      let next = 0;
      return async () => {
        const index = next++;
        while (rounds.length <= index) rounds.push(await round(rounds.length));
        return rounds[index]?.get(key)?.[figure] ?? Number.NaN;
      };
    },
  };
}
