import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  heirOf,
  inheritedBy,
  type LaneShares,
  lanesOn,
  nextShares,
  nodeOf,
  PROVEN_BEATS,
  withoutRun,
} from "./lane-shares.ts";

const nobody: LaneShares = { lanes: [], beats: {} };
const beats = (...runs: string[]) => Object.fromEntries(runs.sort().map((run) => [run, 100]));
interface Seen {
  readonly me: string;
  readonly count?: number;
  readonly silent?: readonly string[];
  readonly isDue?: boolean;
}
const next = (shares: LaneShares, { me, count = shares.lanes.length, silent = [], isDue = false }: Seen) =>
  nextShares(shares, { me, count, isSilent: (run) => silent.includes(run), isDue });

describe("Who carries which lane", () => {
  it("is at first whoever comes first", () => {
    assert.deepEqual(next(nobody, { me: "a_1", count: 3 }), { lanes: ["a_1", "a_1", "a_1"], beats: { a_1: 1 } });
    assert.deepEqual(next(nobody, { me: "a_1", count: 1 }).lanes, ["a_1"]);
  });

  it("stays where everybody lives and nobody has two fewer, and nothing is written then", () => {
    for (const lanes of [["a_1"], ["a_1", "b_1"], ["a_1", "b_1", "a_1"], ["b_1", "b_1", "a_1", "c_1"]]) {
      const shares = { lanes, beats: beats(...new Set(lanes)) };
      for (const me of lanes) assert.equal(next(shares, { me }), shares, `${lanes}: ${me}`);
    }
  });

  it("is said again and again by those who carry something, in one order", () => {
    const shares = { lanes: ["b_1", "a_1"], beats: { a_1: 7, b_1: 3 } };
    assert.deepEqual(Object.entries(next(shares, { me: "a_1", isDue: true }).beats), [
      ["a_1", 8],
      ["b_1", 3],
    ]);
  });

  it("is no business of those who would get nothing: they write nothing, however many there are", () => {
    const shares = { lanes: ["a_1", "b_1"], beats: beats("a_1", "b_1") };
    assert.equal(next(shares, { me: "c_1", isDue: true }), shares);
    const one = { lanes: ["a_1"], beats: beats("a_1", "b_1") };
    assert.equal(next(one, { me: "c_1", isDue: true }), one);
  });

  it("is known to have another one that stands by, and is who takes over, whoever notices", () => {
    const one = { lanes: ["a_1"], beats: beats("a_1") };
    const two = next(one, { me: "b_1" });
    assert.deepEqual(two, { lanes: ["a_1"], beats: { a_1: 100, b_1: 1 } });
    assert.deepEqual([heirOf(one, "a"), heirOf(two, "a"), heirOf(two, "b")], [undefined, "b", "a"]);
    for (const me of ["b_1", "c_1"]) assert.deepEqual(next(two, { me, silent: ["a_1"] }).lanes, ["b_1"], me);
    const shared = { lanes: ["a_1", "b_1", "c_1", "a_1"], beats: beats("a_1", "b_1", "c_1") };
    assert.deepEqual([heirOf(shared, "a"), heirOf(shared, "b")], ["b", "c"]);
  });

  it("is known before by who has them then, lane by lane", () => {
    const alone = { lanes: ["a_1", "a_1"], beats: beats("a_1", "b_1") };
    assert.deepEqual([inheritedBy(alone, "a"), inheritedBy(alone, "b"), inheritedBy(alone, "c")], [[], [0, 1], []]);
    const two = { lanes: ["a_1", "b_1"], beats: beats("a_1", "b_1") };
    assert.deepEqual([inheritedBy(two, "a"), inheritedBy(two, "b")], [[1], [0]]);
    const shared = { lanes: ["a_1", "b_1", "c_1", "a_1"], beats: beats("a_1", "b_1", "c_1") };
    assert.deepEqual(
      [inheritedBy(shared, "b"), inheritedBy(shared, "c")],
      [
        [0, 2],
        [1, 3],
      ],
    );
    for (const silent of ["a_1", "b_1", "c_1"]) {
      const after = next(shared, { me: silent === "a_1" ? "b_1" : "a_1", silent: [silent] });
      for (const node of ["a", "b", "c"].filter((each) => `${each}_1` !== silent)) {
        const came = lanesOn(after, node).filter((lane) => shared.lanes[lane] === silent);
        const lanes = inheritedBy(shared, node).filter((lane) => shared.lanes[lane] === silent);
        assert.deepEqual(came, lanes, `${node} where ${silent} falls silent`);
      }
    }
    assert.deepEqual(inheritedBy({ lanes: ["", "a_1"], beats: beats("a_1") }, "b"), []);
  });

  it("has another one stand by where that one falls silent", () => {
    const shares = { lanes: ["a_1"], beats: beats("a_1", "b_1") };
    assert.deepEqual(next(shares, { me: "c_1", silent: ["b_1"] }).beats, { a_1: 100, c_1: 1 });
  });

  it("is asked for by who comes where another has two, and given to it by that one once it is proven", () => {
    const asked = next({ lanes: ["a_1", "a_1"], beats: beats("a_1") }, { me: "b_1" });
    assert.deepEqual(asked, { lanes: ["a_1", "a_1"], beats: { a_1: 100, b_1: 1 } });
    assert.equal(next(asked, { me: "a_1" }), asked, "not yet");
    const proven = { ...asked, beats: { a_1: 100, b_1: PROVEN_BEATS } };
    assert.equal(next(proven, { me: "b_1" }), proven, "nobody takes it himself");
    assert.deepEqual(next(proven, { me: "a_1" }).lanes, ["a_1", "b_1"]);
  });

  it("is asked for by no more than there are lanes for", () => {
    const shares = { lanes: ["a_1", "a_1"], beats: { a_1: 100, b_1: 1 } };
    assert.equal(next(shares, { me: "c_1" }), shares);
    assert.deepEqual(next(shares, { me: "c_1", silent: ["b_1"] }).beats, { a_1: 100, c_1: 1 });
  });

  it("is given from the last lane on, as many as make it even", () => {
    const lanes = Array.from({ length: 8 }, () => "a_1");
    assert.deepEqual(
      next({ lanes, beats: beats("a_1", "b_1") }, { me: "a_1" }).lanes.join(" "),
      [...Array.from({ length: 4 }, () => "a_1"), ...Array.from({ length: 4 }, () => "b_1")].join(" "),
    );
    assert.deepEqual(next({ lanes, beats: beats("a_1", "b_1", "c_1") }, { me: "a_1" }).lanes.slice(0, 3), [
      "a_1",
      "a_1",
      "a_1",
    ]);
  });

  it("is not given by who has but one more", () => {
    const shares = { lanes: ["a_1", "a_1", "b_1"], beats: beats("a_1", "b_1") };
    assert.equal(next(shares, { me: "a_1" }), shares);
  });

  it("passes from the silent to whoever has the fewest, and the silent are forgotten", () => {
    const shares = { lanes: ["a_1", "b_1", "c_1", "c_1"], beats: beats("a_1", "b_1", "c_1") };
    assert.deepEqual(next(shares, { me: "b_1", silent: ["c_1"] }), {
      lanes: ["a_1", "b_1", "a_1", "b_1"],
      beats: beats("a_1", "b_1"),
    });
    assert.deepEqual(next({ lanes: ["a_1", "b_1"], beats: beats("a_1", "b_1") }, { me: "b_1", silent: ["a_1"] }), {
      lanes: ["b_1", "b_1"],
      beats: beats("b_1"),
    });
  });

  it("passes to one that has stood by, before those who have some", () => {
    const shares = { lanes: ["a_1", "b_1"], beats: beats("a_1", "b_1") };
    assert.deepEqual(next(shares, { me: "c_1", silent: ["b_1"] }), {
      lanes: ["a_1", "c_1"],
      beats: { a_1: 100, c_1: 1 },
    });
  });

  it("passes to the next run of the same node, whoever notices", () => {
    const shares = { lanes: ["a_1", "b_1"], beats: beats("a_1", "b_1") };
    const back = next(shares, { me: "b_2" });
    assert.deepEqual(back.beats, { a_1: 100, b_1: 100, b_2: 1 }, "it says that it is there");
    assert.deepEqual(back.lanes, shares.lanes, "and waits, as two may have one name");
    for (const me of ["a_1", "b_2"]) assert.deepEqual(next(back, { me, silent: ["b_1"] }).lanes, ["a_1", "b_2"], me);
  });

  it("is whoever asks where none of those that are written down lives", () => {
    const shares = { lanes: ["a_1", "b_1"], beats: beats("a_1", "b_1") };
    assert.deepEqual(next(shares, { me: "c_1", silent: ["a_1", "b_1"] }).lanes, ["c_1", "c_1"]);
    assert.deepEqual(next({ lanes: ["x_1", "x_1"], beats: {} }, { me: "c_1" }).lanes, ["c_1", "c_1"]);
  });

  it("follows the number of lanes", () => {
    const shares = { lanes: ["a_1", "b_1"], beats: beats("a_1", "b_1") };
    assert.deepEqual(next(shares, { me: "a_1", count: 4 }).lanes, ["a_1", "b_1", "a_1", "b_1"]);
    assert.deepEqual(next(shares, { me: "a_1", count: 1 }).lanes, ["a_1"]);
    const fewer = { lanes: ["a_1"], beats: beats("a_1", "b_1", "c_1") };
    assert.deepEqual(next(fewer, { me: "c_1" }).beats, beats("a_1", "b_1"), "who has none is out");
  });

  it("is given up at once by who ends, to the others or to nobody", () => {
    const shares = { lanes: ["a_1", "b_1", "a_1"], beats: beats("a_1", "b_1") };
    assert.deepEqual(withoutRun(shares, "a_1"), { lanes: ["b_1", "b_1", "b_1"], beats: beats("b_1") });
    assert.deepEqual(withoutRun({ lanes: ["a_1"], beats: beats("a_1") }, "a_1"), { lanes: [""], beats: {} });
    assert.deepEqual(next({ lanes: [""], beats: {} }, { me: "b_1" }).lanes, ["b_1"]);
  });

  it("is told of a node by any of its runs", () => {
    assert.equal(nodeOf("node_with_lines_0a1b"), "node_with_lines");
    assert.deepEqual(lanesOn({ lanes: ["a_1", "b_1", "a_2", ""], beats: {} }, "a"), [0, 2]);
    assert.deepEqual(lanesOn({ lanes: ["a_1"], beats: {} }, ""), []);
  });

  it("comes to rest, evenly, whoever comes, goes and acts in whatever order", () => {
    const step = fc.record({
      node: fc.integer({ min: 0, max: 5 }),
      what: fc.constantFrom("act", "act", "act", "act", "die", "end", "come"),
    });
    const examined = fc.property(fc.integer({ min: 1, max: 8 }), fc.array(step, { maxLength: 60 }), (count, steps) => {
      const living = new Map<number, number>([[0, 0]]);
      let shares: LaneShares = nobody;
      const runOf = (node: number) => `n${node}_${living.get(node)}`;
      const isSilent = (run: string) => ![...living.keys()].some((node) => runOf(node) === run);
      const act = (node: number) => {
        if (living.has(node)) shares = nextShares(shares, { me: runOf(node), count, isSilent, isDue: true });
      };
      let runs = 0;
      for (const { node, what } of steps) {
        if (what === "act") act(node);
        else if (what === "come" && !living.has(node)) living.set(node, ++runs);
        else if (living.size > 1 && living.has(node)) {
          if (what === "end") shares = withoutRun(shares, runOf(node));
          if (what !== "come") living.delete(node);
        }
      }
      for (let round = 0; round < 3 * PROVEN_BEATS; round++) for (const node of living.keys()) act(node);
      const before = shares;
      for (const node of living.keys()) shares = nextShares(shares, { me: runOf(node), count, isSilent, isDue: false });
      assert.equal(shares, before, "nothing moves any more");
      const loads = [...living.keys()].map((node) => shares.lanes.filter((run) => run === runOf(node)).length);
      assert.equal(
        loads.reduce((sum, load) => sum + load, 0),
        count,
        "each lane is at one that lives",
      );
      assert.ok(Math.max(...loads) - Math.min(...loads) < 2, String(loads));
      assert.ok(Object.keys(shares.beats).length <= Math.max(count, 2), "who has none says nothing");
      for (const node of living.keys())
        assert.equal(heirOf(shares, `n${node}`) === undefined, living.size < 2, "each knows who comes next");
    });
    fc.assert(examined, { numRuns: 300 });
  });
});
