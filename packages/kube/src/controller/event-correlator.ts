import { type Clock, TokenBucket } from "@fjord/base";
import { RecentMap } from "./recent-map.ts";

/** Something that happened to an object, for people to read. */
export interface EventNote {
  type: "Normal" | "Warning";
  /** One CamelCase word that tools can count by. */
  reason: string;
  /** A sentence. Never a secret. */
  message: string;
  /** What was attempted, as one word. */
  action?: string;
  /** The part of the object that it is about, such as `spec.containers{web}`. */
  fieldPath?: string;
}

/** Events that are shown as one, with a count. */
export interface EventSeries {
  readonly key: string;
  readonly note: EventNote;
  message: string;
  count: number;
  first: number;
  last: number;
  /** Name of its event, once one was sent. */
  name?: string;
  /** How often it was tried to create it. */
  attempts: number;
  /** Whether its event is there, with what was counted before this process began, as far as is known. */
  written?: boolean;
}

export interface EventCorrelatorOptions {
  /** So many different messages of one kind about one object are shown apart; more are combined. @default 10 */
  maxSimilar?: number;
  /** For how long messages count as similar. @default 600_000 */
  similarMs?: number;
  /** How many writes each object gets. @default 25 at once, then one in five minutes */
  rate?: { burst: number; perSecond: number };
  /** How many objects, kinds of event and series are remembered. @default 4096 */
  remembered?: number;
  clock: Clock;
}

/** Decides which events are one, and which need not be written now. */
export class EventCorrelator {
  readonly #options: Required<EventCorrelatorOptions>;
  readonly #buckets: RecentMap<TokenBucket>;
  readonly #kinds: RecentMap<{ messages: Set<string>; last: number }>;
  readonly #series: RecentMap<EventSeries>;

  constructor(options: EventCorrelatorOptions) {
    const rate = { burst: 25, perSecond: 1 / 300 };
    this.#options = { maxSimilar: 10, similarMs: 600_000, rate, remembered: 4096, ...options };
    const { remembered } = this.#options;
    this.#buckets = new RecentMap(remembered);
    this.#kinds = new RecentMap(remembered);
    this.#series = new RecentMap(remembered);
  }

  /** Counts an event in its series. */
  count(object: string, note: EventNote): EventSeries {
    const { clock } = this.#options;
    const kind = JSON.stringify([object, note.type, note.reason, note.action, note.fieldPath]);
    const combined = this.#isOneOfMany(kind, note.message);
    const key = combined ? kind : JSON.stringify([kind, note.message]);
    const series = this.#series.getOrMake(key, () => ({
      key,
      note,
      message: "",
      count: 0,
      attempts: 0,
      first: clock.now(),
      last: 0,
    }));
    series.count++;
    series.last = clock.now();
    series.message = combined ? `(combined from similar events): ${note.message}` : note.message;
    return series;
  }

  /** Takes one of the writes that an object gets; without one, the series keeps its count for a later write. */
  mayWrite(object: string): boolean {
    const { clock, rate } = this.#options;
    return this.#buckets.getOrMake(object, () => new TokenBucket({ ...rate, clock })).tryTake();
  }

  #isOneOfMany(kind: string, message: string): boolean {
    const { clock, maxSimilar, similarMs } = this.#options;
    const similar = this.#kinds.getOrMake(kind, () => ({ messages: new Set(), last: clock.now() }));
    if (clock.now() - similar.last > similarMs) similar.messages.clear();
    similar.last = clock.now();
    if (similar.messages.size <= maxSimilar) similar.messages.add(message);
    return similar.messages.size > maxSimilar;
  }
}
