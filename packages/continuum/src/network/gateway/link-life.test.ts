import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type LifeSight, LinkLife, togetherOf } from "./link-life.ts";

/** A peer that is looked at five times a second. */
class Watched {
  now = 1_000_000;
  readonly life: LinkLife;
  #bytes = 0;
  #heardAt: number | undefined;
  #since = 0;

  constructor(before?: ConstructorParameters<typeof LinkLife>[0]) {
    this.life = new LinkLife(before);
  }

  /** Whether it was silent at each of so many looks. */
  looks(
    count: number,
    kind: "answers" | "nothing" | "bytes",
    change: Partial<LifeSight> = {},
  ): (boolean | undefined)[] {
    return Array.from({ length: count }, () => {
      this.now += 200;
      if (kind !== "nothing") this.#bytes += 100;
      if (kind === "answers") this.#heardAt = this.now;
      const unanswered = kind === "answers" ? 0 : 9;
      if (kind === "answers") this.#since = this.now;
      const heard = this.#heardAt === undefined ? {} : { heardAt: this.#heardAt };
      const sight = { now: this.now, askedSince: 1_000_000, unanswered, receivedBytes: this.#bytes, ...heard };
      const unansweredSince = this.#since;
      return this.life.isSilent({ ...sight, unansweredSince, ...change });
    });
  }

  /** After how many milliseconds of `kind` it is so. */
  after(isSilent: boolean, kind: "answers" | "nothing" | "bytes", change: Partial<LifeSight> = {}): number {
    const at = this.looks(400, kind, change).indexOf(isSilent);
    return at < 0 ? Number.POSITIVE_INFINITY : (at + 1) * 200;
  }
}

describe("the life of a link", () => {
  it("is over when nothing has been heard for two seconds, and not for a moment without an answer", () => {
    const watched = new Watched();
    assert.equal(watched.after(false, "answers"), 200);
    assert.deepEqual(new Set(watched.looks(10, "nothing")), new Set([false]));
    watched.looks(5, "answers");
    assert.equal(watched.after(true, "nothing"), 2_200);
  });

  it("begins again when the peer has answered for a second, and later each time that it falls silent soon after", () => {
    const watched = new Watched();
    watched.looks(2, "answers");
    const returns = Array.from({ length: 7 }, () => {
      watched.looks(20, "nothing");
      const back = watched.looks(200, "answers").indexOf(false) * 200;
      return back;
    });
    assert.deepEqual(returns, [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    watched.looks(400, "answers");
    watched.looks(20, "nothing");
    assert.equal(watched.after(false, "answers"), 1_200);
  });

  it("is not judged by few questions: the process may have been held up", () => {
    const watched = new Watched();
    watched.looks(2, "answers");
    watched.now += 60_000;
    assert.deepEqual(new Set(watched.looks(3, "nothing", { unanswered: 3 })), new Set([false]));
    const late = { unansweredSince: watched.now };
    assert.deepEqual(watched.looks(6, "nothing", late).indexOf(true), 5);
  });

  it("goes on where only the peer's program has ended, as packets still come; but not where that asks, and is not answered", () => {
    const watched = new Watched();
    watched.looks(2, "answers");
    assert.equal(watched.after(true, "bytes"), Number.POSITIVE_INFINITY);
    const other = new Watched();
    other.looks(2, "answers");
    assert.equal(
      Array.from({ length: 20 }, () => other.looks(1, "bytes", { questionedAt: other.now })[0]).indexOf(true),
      10,
    );
  });

  it("goes on where the peer's program has ended a moment after it asked", () => {
    const watched = new Watched();
    watched.looks(2, "answers");
    watched.looks(4, "bytes");
    assert.equal(watched.after(true, "bytes", { questionedAt: watched.now }), Number.POSITIVE_INFINITY);
  });

  it("is not over while another way is tried, by either, nor in the second after", () => {
    const watched = new Watched();
    watched.looks(2, "answers");
    assert.deepEqual(new Set(watched.looks(12, "nothing", { isTrying: true })), new Set([false]));
    assert.equal(watched.after(true, "nothing"), 1_000);
    const invited = new Watched();
    invited.looks(2, "answers");
    assert.equal(invited.after(true, "nothing", { invitedAt: invited.now }), 3_000);
  });

  it("is unknown of one that has never answered, and goes on as it was said before", () => {
    assert.deepEqual(new Set(new Watched().looks(100, "nothing")), new Set([undefined]));
    assert.equal(new Watched({ hasAnswered: true }).after(true, "nothing"), 6_000);
    assert.deepEqual(new Set(new Watched({ isSilent: true }).looks(100, "nothing")), new Set([true]));
    assert.equal(new Watched({ isSilent: true }).after(false, "answers"), 1_200);
  });

  it("is that of any of its lanes", () => {
    const one = { askedSince: 5, unanswered: 9, heardAt: 10 };
    const other = { askedSince: 7, unanswered: 0, heardAt: 20, questionedAt: 3 };
    assert.deepEqual(togetherOf([one, other]), { askedSince: 7, unanswered: 0, heardAt: 20, questionedAt: 3 });
    assert.deepEqual(togetherOf([{ askedSince: 1, unanswered: 2 }]), { askedSince: 1, unanswered: 2 });
  });
});
