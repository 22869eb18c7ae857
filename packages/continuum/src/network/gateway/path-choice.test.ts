import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PathChoice, type PathSight } from "./path-choice.ts";

/** A peer to look at, second by second. */
class Watched {
  now = 1_000_000;
  readonly choice = new PathChoice(this.now);
  readonly #ways: PathSight["ways"];

  constructor(...ways: PathSight["ways"]) {
    this.#ways = ways.length === 0 ? ["direct", "hub"] : ways;
  }

  look(change: Partial<PathSight> = {}): string | undefined {
    this.now += 1_000;
    const sight = { ways: this.#ways, canDial: true, canMeet: true, answers: "often", isAsked: true } as const;
    return this.choice.look({ now: this.now, heard: "direct", ...sight, ...change });
  }

  /** What is dialled, with the second of it. */
  dialled(seconds: number, change: Partial<PathSight> | ((second: number) => Partial<PathSight>)): string[] {
    return Array.from({ length: seconds }, (_, at) => at + 1).flatMap((second) => {
      const way = this.look(typeof change === "function" ? change(second) : change);
      return way === undefined ? [] : [`${second} ${way}`];
    });
  }
}
const silent = { heard: undefined };
const byHub = { heard: "hub" } as const;
const byTcp = { heard: "tcp" } as const;

describe("the way to a peer that a hub leads to as well", () => {
  it("is the direct one as long as the peer is heard of there", () => {
    assert.deepEqual(new Watched().dialled(600, {}), []);
  });

  it("is the hub's two seconds after the peer fell silent, and sooner where the peer comes by it", () => {
    const watched = new Watched();
    watched.look();
    assert.deepEqual(watched.dialled(3, silent), ["2 hub"]);
    const other = new Watched();
    assert.deepEqual([other.look(byHub), other.choice.way], [undefined, "hub"]);
  });

  it("is the hub's where the two never met, and waits for a beginning before", () => {
    assert.deepEqual(new Watched().dialled(10, silent), ["7 hub"]);
  });

  it("stays the direct one where the hub is silent itself, at one endpoint after the other", () => {
    assert.deepEqual(new Watched("direct").dialled(30, silent), ["8 direct", "16 direct", "24 direct"]);
  });

  it("is tried directly now and then for two seconds, less and less often, and taken again when it works", () => {
    const watched = new Watched();
    watched.look(byHub);
    const tries = watched.dialled(1_000, byHub);
    const first = ["30 invite", "31 direct", "32 direct", "33 hub", "93 invite", "94 direct", "95 direct", "96 hub"];
    assert.deepEqual(tries.slice(0, 8), first);
    assert.equal(watched.choice.way, "hub");
    const met = watched.dialled(1_200, (second) => (second > 600 ? {} : byHub));
    assert.equal(watched.choice.way, "direct");
    assert.ok(met.length <= 8, met.join());
    // And from then on as at first.
    assert.deepEqual(watched.dialled(40, silent).slice(0, 1), ["2 hub"]);
  });

  it("is the hub's at once where neither can dial the other", () => {
    const hopeless = { ...silent, canDial: false, canMeet: false };
    assert.deepEqual(new Watched().dialled(6, hopeless), ["1 hub"]);
    assert.deepEqual(new Watched("direct").dialled(60, hopeless), []);
  });

  it("is not tried directly where nothing is known of where the peer is: it comes by itself", () => {
    const watched = new Watched();
    assert.deepEqual(watched.dialled(8, { ...silent, canDial: false }), ["7 hub"]);
    assert.deepEqual(watched.dialled(2_000, { ...byHub, canDial: false }), []);
    watched.look({ canDial: false });
    assert.equal(watched.choice.way, "direct");
  });

  it("is sought by both where neither leads there", () => {
    const tries = new Watched().dialled(60, silent);
    assert.deepEqual(tries.slice(0, 4), ["7 hub", "14 direct", "21 hub", "28 direct"]);
  });
});

describe("the direct way to a peer that is met otherwise", () => {
  it("is tried when the peer says that it tries it, and kept when something comes", () => {
    const watched = new Watched();
    watched.look(byHub);
    watched.choice.invited(watched.now);
    assert.equal(watched.choice.isTrying, true);
    assert.equal(watched.look(byHub), "direct");
    assert.equal(watched.look(), undefined);
    assert.deepEqual([watched.choice.way, watched.choice.isTrying], ["direct", false]);
  });

  it("is tried at most every ten seconds for a peer that says so all the time", () => {
    const watched = new Watched();
    watched.look(byHub);
    const tries = watched.dialled(60, () => {
      watched.choice.invited(watched.now);
      return byHub;
    });
    assert.ok(tries.filter((each) => each.endsWith("hub")).length <= 6, tries.join());
  });

  it("is tried soon when it becomes known where the peer is seen, and not more often than twice a minute for that", () => {
    const watched = new Watched();
    watched.look(byHub);
    watched.choice.news(watched.now);
    assert.deepEqual(watched.dialled(5, byHub), ["1 invite", "2 direct", "3 direct", "4 hub"]);
    const met = new Watched();
    met.look(byHub);
    met.choice.news(met.now);
    assert.deepEqual(met.dialled(2, byHub), ["1 invite", "2 direct"]);
    met.look();
    assert.deepEqual(met.dialled(5, byHub).length, 0);
    met.choice.news(met.now);
    assert.deepEqual(met.dialled(2, byHub), ["1 invite", "2 direct"], "once more, as it has worked before");
    const tries = watched.dialled(120, () => {
      watched.choice.news(watched.now);
      return byHub;
    });
    assert.ok(tries.filter((each) => each.endsWith("invite")).length <= 4, tries.join());
  });
});

describe("the way to a peer where UDP may not pass", () => {
  const ways = ["direct", "hub", "tcp"] as const;

  it("is the agents' connection where neither the peer nor a hub answers", () => {
    const watched = new Watched(...ways);
    watched.look();
    assert.deepEqual(watched.dialled(9, silent), ["2 hub", "5 tcp", "8 direct"]);
    assert.deepEqual(new Watched("direct", "tcp").dialled(8, silent), ["7 tcp"]);
  });

  it("is left for a better one that works, one tried after the other", () => {
    const watched = new Watched(...ways);
    watched.look(byTcp);
    assert.equal(watched.choice.way, "tcp");
    const tries = watched.dialled(100, byTcp).filter((each) => !each.endsWith("tcp"));
    assert.deepEqual(tries.slice(0, 5), ["30 invite", "31 direct", "32 direct", "38 hub", "39 hub"]);
    assert.deepEqual(tries.slice(5), ["100 invite"]);
  });

  it("is a better one as soon as the peer is heard of there", () => {
    const watched = new Watched(...ways);
    watched.look(byTcp);
    watched.look(byHub);
    assert.equal(watched.choice.way, "hub");
    watched.look();
    assert.equal(watched.choice.way, "direct");
  });

  it("is not given up where the peer answers no questions, until WireGuard itself is not answered", () => {
    const watched = new Watched("direct", "tcp");
    watched.look();
    assert.deepEqual(watched.dialled(600, { ...silent, answers: undefined, isAsked: false }).slice(0, 1), ["180 tcp"]);
    const other = new Watched("direct", "tcp");
    other.look();
    assert.deepEqual(other.dialled(20, { ...silent, answers: undefined }), ["15 tcp"]);
  });
});
