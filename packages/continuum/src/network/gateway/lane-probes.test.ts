import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { ManualClock } from "@fjord/base/testing";
import { testState } from "../fabric/test-state.ts";
import { type LaneProbe, LaneProbes } from "./lane-probes.ts";
import type { LinkReport } from "./link-report.ts";
import type { ProbedLink } from "./probed-peer.ts";

describe("Probes of a node's lanes", () => {
  let done: string[];
  /** By lane. */
  let seen: ProbedLink[];
  let late: number | undefined;
  let probes: LaneProbes;
  const reports: LinkReport[] = [
    {
      siteId: "peer0",
      receivedBytes: 0,
      sentBytes: 0,
      lanes: [0, 1].map((lane) => ({ lane, receivedBytes: 0, sentBytes: 0 })),
    },
  ];
  const state = { ...testState(1), siteId: "own" };
  const two = { ...state, parallel: 2 };

  const open = (lane: number): LaneProbe => ({
    tick: async (own, peers, mtu, often, oftenMs) =>
      void done.push(`${lane}: ${own} ${peers} ${mtu} ${[...(often ?? [])]} ${oftenMs}`),
    seen: () => seen[lane] ?? {},
    signs: () => ({ askedSince: lane, unanswered: 3 - lane }),
    answeredAt: () => undefined,
    get isLate() {
      return late === lane;
    },
    hurry: () => void done.push(`${lane}: hurry`),
    invite: (siteId) => void done.push(`${lane}: invite ${siteId}`),
    onInvited: () => {},
    onLate: () => {},
    say: () => {},
    onSaid: () => {},
    close: () => void done.push(`${lane}: close`),
  });

  beforeEach(() => {
    [done, seen, late] = [[], [], undefined];
    probes = new LaneProbes(new ManualClock(), open);
  });

  it("ask over each lane, and are closed where a lane is no longer here", async () => {
    await probes.tick(reports, two, false);
    assert.deepEqual(done.splice(0), ["0: own peer0 1380 peer0 500", "1: own peer0 1380 peer0 500"]);
    assert.equal(probes.hasLanes, true);
    await probes.tick(reports, state, false);
    assert.deepEqual(done.splice(0), ["1: close", "0: own peer0 1380 peer0 undefined"]);
    assert.equal(probes.hasLanes, false);
    probes.close();
    assert.deepEqual(done, ["0: close"]);
  });

  it("ask nobody before the own id is known", async () => {
    await probes.tick(reports, testState(1), false);
    assert.deepEqual(done, []);
  });

  it("invite over the first lane who tries another way", async () => {
    await probes.tick([{ ...(reports[0] as LinkReport), isTrying: true }], two, false);
    assert.deepEqual(
      done.filter((each) => each.includes("invite")),
      ["0: invite peer0"],
    );
  });

  it("tell of a link by its first lane, and of packets by what gets through on all", async () => {
    await probes.tick(reports, two, false);
    seen = [
      { latencyMs: 5, lossPercent: 0, mtu: 1380 },
      { latencyMs: 9, lossPercent: 50, mtu: 1300 },
    ];
    assert.deepEqual(probes.seen("peer0"), { latencyMs: 5, lossPercent: 0, mtu: 1300 });
    assert.deepEqual(probes.signs("peer0"), { askedSince: 1, unanswered: 2 });
    assert.deepEqual(
      [...probes.linked(reports)],
      [
        [0, ["peer0"]],
        [1, ["peer0"]],
      ],
    );
  });

  it("say how often one is asked that has answered before", async () => {
    assert.equal(probes.answering("peer0", 0), undefined);
    await probes.tick(reports, state, false);
    assert.equal(probes.answering("peer0", 0), undefined);
    seen = [{ lossPercent: 0 }];
    assert.deepEqual([probes.answering("peer0", 0), probes.answering("peer9", 0)], ["often", "seldom"]);
  });

  it("are late where any of them is", async () => {
    await probes.tick(reports, two, false);
    assert.equal(probes.isLate, false);
    late = 1;
    assert.equal(probes.isLate, true);
    done.length = 0;
    probes.hurry();
    assert.deepEqual(done, ["0: hurry", "1: hurry"]);
  });
});
