import type { Clock } from "@fjord/base";
import type { Session } from "./sessions.ts";

/** More than anybody looks at. */
const MOST_PER_USER = 32;

/** What viewers have open: few enough for each, and looked after while it lasts. */
export class Streams {
  readonly #clock: Clock;
  readonly #everyMs: number;
  readonly #check: (session: Session) => Promise<void>;
  readonly #open = new Map<string, number>();

  /** `check` ends sessions that no longer hold; it is called for each stream every so often. */
  constructor(clock: Clock, everyMs: number, check: (session: Session) => Promise<void>) {
    this.#clock = clock;
    this.#everyMs = everyMs;
    this.#check = check;
  }

  /** To be called when the stream has ended; undefined where the viewer has too many. */
  open(session: Session): (() => void) | undefined {
    const { user } = session.who;
    const others = this.#open.get(user) ?? 0;
    if (others >= MOST_PER_USER) return undefined;
    this.#open.set(user, others + 1);
    let cancel = () => {};
    const again = () => {
      cancel = this.#clock.after(this.#everyMs, () => {
        again();
        // An API that does not answer now is asked again.
        this.#check(session).catch(() => {});
      });
    };
    again();
    return () => {
      cancel();
      cancel = () => {};
      const left = (this.#open.get(user) ?? 1) - 1;
      if (left === 0) this.#open.delete(user);
      else this.#open.set(user, left);
    };
  }
}
