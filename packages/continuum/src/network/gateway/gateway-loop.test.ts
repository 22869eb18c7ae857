import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { LogFields } from "@fjord/base";
import { silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import type { DeniedPackets } from "../fabric/denied-packets.ts";
import { testState } from "../fabric/test-state.ts";
import type { WayState } from "../fabric/way.ts";
import type { NetworkState } from "../network-state.ts";
import type { Heir } from "./fence.ts";
import { GatewayLoop } from "./gateway-loop.ts";
import type { LinkReport } from "./link-report.ts";

describe("A gateway that is kept at what its source says", () => {
  let done: string[];
  let complaints: string[];
  let fails: string | undefined;
  let state: NetworkState | undefined;
  let way: WayState | undefined;
  let inherits: NetworkState | undefined;
  let isLate: boolean;
  let changed: () => void;
  let invite: (siteId: string) => void;
  let follows: boolean;
  let told: (reports: readonly LinkReport[]) => Promise<void>;
  let clock: ManualClock;
  let stop: AbortController;
  let running: Promise<void>;
  let isBrought: boolean | undefined;
  let seenMtu: number | undefined;
  let mtus: (number | undefined)[][];
  let reports: LinkReport[];
  /** By lane. */
  let answers: Map<number, number>;
  let silent: (readonly number[] | undefined)[];
  let heirOf: Heir | undefined;
  let denied: DeniedPackets | undefined;
  let fenced: string;
  let unanswered: string[];
  let silentRanges: string[] | undefined;
  const act = async (what: string) => {
    done.push(what);
    if (fails === what) throw new Error(`${what} fails`);
  };

  beforeEach(() => {
    [done, complaints, fails, state, told] = [[], [], undefined, testState(1), async () => {}];
    [way, seenMtu, mtus, reports] = [undefined, undefined, [], []];
    [answers, silent] = [new Map(), []];
    [heirOf, fenced, inherits, isLate, follows] = [undefined, "", undefined, false, true];
    [unanswered, silentRanges] = [[], undefined];
    clock = new ManualClock();
    stop = new AbortController();
    running = begin();
  });
  const begin = () => {
    const error = (message: string, _: LogFields = {}) => void complaints.push(message);
    return new GatewayLoop({
      gateway: {
        prepare: async (of) => act(`prepare ${of?.carried}`),
        apply: async (wanted) => {
          mtus.push(wanted.peers.map(({ mtu }) => mtu));
          silent.push(wanted.peers[0]?.link.silent);
          await act(`apply ${wanted.peers.length}`);
        },
        check: async () => act("check").then(() => []),
        denied: { in: 3, out: 1, beyond: 0 },
        tend: async () => act("tend").then(() => reports),
        invited: (siteId) => {
          done.push(`invited by ${siteId}`);
          return follows;
        },
        moved: async () => {},
        forget: () => void done.push("forget"),
        remove: async () => act("remove"),
      },
      way: {
        apply: async ({ gateway, heir }) => {
          heirOf = heir && { devices: ["eth0"], ranges: [] };
          await act(`way ${gateway.join()}`);
        },
        check: async () => act("check the way").then(() => []),
        get heir() {
          return heirOf;
        },
      },
      fence: {
        keep: async (ports, heir) => {
          const text = `fence ${[...ports, ...(heir?.devices ?? [])]}`;
          if (text === fenced) return;
          fenced = text;
          await act(text);
        },
        leave: async () => act("leave"),
        remove: async () => act("no fence"),
      },
      unanswered: {
        keep: (ranges) => {
          if (unanswered.at(-1) !== ranges.join()) unanswered.push(ranges.join());
        },
        close: async () => void unanswered.push("closed"),
      },
      source: {
        async read() {
          if (fails === "read") throw new Error("read fails");
          if (state === undefined && way === undefined) return undefined;
          const carries = state && { carries: { state, privateKey: "key" } };
          const silence = silentRanges && { silent: silentRanges };
          return { ...carries, ...(way && { way }), ...(inherits && { inherits }), ...silence };
        },
        onChange(listener) {
          changed = listener;
          return () => {};
        },
      },
      clock,
      logger: { ...silentLogger, error },
      told: (reports) => told(reports),
      probe: (lane) => ({
        tick: async () => {},
        seen: () => (seenMtu === undefined ? {} : { mtu: seenMtu }),
        signs: () => undefined,
        get isLate() {
          return isLate;
        },
        onLate: () => {},
        answeredAt: () => answers.get(lane),
        hurry: () => {},
        invite: (siteId) => void done.push(`invite ${siteId}`),
        say: () => {},
        onSaid: () => {},
        onInvited: (listener) => {
          invite = listener;
        },
        close: () => {},
      }),
      observer: {
        brought: (isApplied) => {
          isBrought = isApplied;
        },
        drifted: () => {},
        denied: (packets) => {
          denied = packets;
        },
        linked: () => {},
        keyMade: () => {},
        carried: () => {},
      },
    }).run(stop.signal);
  };
  afterEach(async () => {
    stop.abort();
    await running;
  });

  const seconds = async (count: number) => {
    for (let i = 0; i < count; i++) await clock.advance(1000);
    return done.splice(0);
  };

  it("is changed only where that changes, and looked after every second", async () => {
    assert.deepEqual((await seconds(2)).slice(0, 4), ["no fence", "apply 1", "tend", "tend"]);
    state = testState(2);
    assert.deepEqual(await seconds(2), ["apply 2", "tend", "tend"]);
  });

  it("is changed where less gets to a peer than was thought, and by what was known before until that is seen", async () => {
    state = testState(1, (peer) => ({ ...peer, mtu: 1340 }));
    await seconds(1);
    assert.deepEqual(mtus.splice(0).at(-1), [1340]);
    seenMtu = 1300;
    assert.deepEqual(await seconds(2), ["apply 1", "tend", "tend"]);
    assert.deepEqual(mtus.splice(0), [[1300]]);
  });

  it("is changed by what the node itself can send there in one piece, in sixteens", async () => {
    seenMtu = 1380;
    const heard: (number | undefined)[] = [];
    told = async (all) => void heard.push(...all.map((each) => (each as { mtu?: number }).mtu));
    reports = [{ siteId: "peer0", receivedBytes: 0, sentBytes: 0, pathMtu: 1340 }];
    await seconds(3);
    assert.deepEqual(mtus.at(-1), [1328]);
    assert.equal(heard.at(-1), 1328);
    reports = [{ siteId: "peer0", receivedBytes: 0, sentBytes: 0, pathMtu: 1380 }];
    await seconds(2);
    assert.deepEqual(mtus.at(-1), [undefined]);
  });

  it("tells of no larger packets than the node's routes let to a peer, as through a hub", async () => {
    seenMtu = 1380;
    const heard: (number | undefined)[] = [];
    told = async (all) => void heard.push(...all.map((each) => (each as { mtu?: number }).mtu));
    reports = [{ siteId: "peer0", receivedBytes: 0, sentBytes: 0, routeMtu: 1312 }];
    await seconds(2);
    assert.deepEqual([mtus.at(-1), heard.at(-1)], [[undefined], 1312], "what may be large to the peer stays so");
    reports = [{ siteId: "peer0", receivedBytes: 0, sentBytes: 0 }];
    await seconds(2);
    assert.equal(heard.at(-1), 1380);
  });

  /** Both lanes of peer0 as they are seen here. */
  const bothLanes = [0, 1].map((lane) => ({ lane, receivedBytes: 0, sentBytes: 0 }));
  const answering = async (lanes: number[], ms: number) => {
    for (let passed = 0; passed < ms; passed += 500) {
      for (const lane of lanes) answers.set(lane, clock.now());
      await clock.advance(500);
    }
  };

  it("takes another lane of a link for a silent one within two seconds and a half, and the same again when it is proven", async () => {
    state = { ...testState(1), siteId: "own", parallel: 2 };
    reports = [{ siteId: "peer0", receivedBytes: 0, sentBytes: 0, lanes: bothLanes }];
    let heard: readonly unknown[] | undefined;
    told = async ([link]) => {
      heard = (link?.lanes as { silent: boolean }[] | undefined)?.map((each) => each.silent);
    };
    await answering([0, 1], 3_000);
    assert.deepEqual([silent.at(-1), heard], [undefined, [false, false]]);
    await answering([0], 2_500);
    assert.deepEqual([silent.at(-1), heard], [[1], [false, true]]);
    await answering([0, 1], 2_000);
    assert.deepEqual(silent.at(-1), [1], "not yet");
    await answering([0, 1], 2_000);
    assert.deepEqual([silent.at(-1), heard], [undefined, [false, false]]);
  });

  it("takes a lane that answers again at once where no other one does, here or by the word of other nodes", async () => {
    state = { ...testState(1), siteId: "own", parallel: 2 };
    reports = [{ siteId: "peer0", receivedBytes: 0, sentBytes: 0, lanes: bothLanes }];
    await answering([0, 1], 3_000);
    await answering([], 2_500);
    assert.deepEqual(silent.at(-1), [0, 1]);
    await answering([0], 1_000);
    assert.deepEqual(silent.at(-1), [1]);
    await answering([0, 1], 2_000);
    assert.deepEqual(silent.at(-1), [1], "the other is to be proven");
    const link: { silent: number[] } = { silent: [0, 1] };
    const peers = testState(1, (peer) => ({ ...peer, link: { ...peer.link, ...link } })).peers;
    state = { ...testState(1), peers, siteId: "own", parallel: 2, carried: [0] };
    let heard: readonly boolean[] | undefined;
    told = async ([seen]) => {
      heard = (seen?.lanes as { silent: boolean }[] | undefined)?.map((each) => each.silent);
    };
    reports = [{ siteId: "peer0", receivedBytes: 0, sentBytes: 0, lanes: bothLanes.slice(0, 1) }];
    await answering([], 2_500);
    assert.deepEqual([silent.at(-1), heard], [[0, 1], [true]]);
    await answering([0], 1_000);
    assert.deepEqual([silent.at(-1), heard], [[1], [false]]);
  });

  it("leaves it to the objects which of the lanes are silent that other nodes carry, and says so of its own before it goes by that", async () => {
    const link: { silent: number[] } = { silent: [0] };
    const peers = testState(1, (peer) => ({ ...peer, link: { ...peer.link, ...link } })).peers;
    state = { ...testState(1), peers, siteId: "own", parallel: 2, carried: [1] };
    reports = [{ siteId: "peer0", receivedBytes: 0, sentBytes: 0, lanes: bothLanes.slice(1) }];
    await answering([], 3_000);
    assert.deepEqual(silent.at(-1), [0], "others do not know it yet");
    link.silent.push(1);
    await answering([], 3_000);
    assert.deepEqual(silent.at(-1), [0, 1]);
    await answering([1], 3_000);
    assert.deepEqual(silent.at(-1), [0]);
  });

  it("is compared with it every half minute", async () => {
    const all = await seconds(61);
    assert.equal(all.filter((each) => each === "check").length, 2);
    assert.deepEqual(denied, { in: 3, out: 1, beyond: 0 });
  });

  it("is not while somebody owes an answer, which is looked after before", async () => {
    state = { ...testState(1), siteId: "own" };
    await seconds(28);
    isLate = true;
    assert.ok(!(await seconds(4)).includes("check"));
    isLate = false;
    assert.ok((await seconds(1)).includes("check"));
  });

  it("is, after a minute, also where somebody always does", async () => {
    state = { ...testState(1), siteId: "own" };
    await seconds(1);
    isLate = true;
    const all = await seconds(62);
    assert.equal(all.filter((each) => each === "check").length, 1);
  });

  it("is what it shall be where nobody wants links, and not where it could not be brought to it", async () => {
    await seconds(1);
    [fails, state] = ["apply 2", testState(2)];
    await seconds(1);
    assert.equal(isBrought, false);
    state = undefined;
    await seconds(1);
    assert.equal(isBrought, false);
    [fails, state] = [undefined, testState(1)];
    await seconds(1);
    state = undefined;
    await seconds(1);
    assert.equal(isBrought, true);
  });

  it("has connections begin anew that silent peers have not answered, also where it carries no links", async () => {
    silentRanges = ["240.0.0.0/16"];
    await seconds(1);
    [state, way] = [undefined, { own: [], ranges: [], gateway: [], nodes: [], mtu: 1380 }];
    silentRanges = ["241.0.0.0/16"];
    await seconds(1);
    silentRanges = undefined;
    await seconds(1);
    stop.abort();
    await running;
    assert.deepEqual(unanswered, ["", "240.0.0.0/16", "241.0.0.0/16", "", "closed"]);
  });

  it("stays as it is while nothing is known", async () => {
    state = undefined;
    await seconds(1);
    assert.deepEqual(await seconds(5), []);
    fails = "read";
    assert.deepEqual(await seconds(5), []);
    assert.deepEqual(complaints, ["what links shall be cannot be read"]);
  });

  it("is made anew after a failure, which is said once", async () => {
    await seconds(1);
    fails = "tend";
    assert.deepEqual((await seconds(3)).slice(-6), ["apply 1", "tend", "forget", "apply 1", "tend", "forget"]);
    fails = undefined;
    assert.deepEqual(await seconds(2), ["apply 1", "tend", "tend"]);
    assert.deepEqual(complaints, ["the node's network cannot be brought to what it shall be"]);
  });

  const wayTo = (gateway: string): WayState => ({
    own: [],
    ranges: [],
    gateway: [gateway],
    nodes: [],
    homes: [],
    mtu: 1380,
  });

  it("gives its links away once there is a way to who has them, and takes them before that is given up", async () => {
    await seconds(1);
    done.splice(0);
    [state, way] = [undefined, wayTo("192.0.2.7")];
    assert.deepEqual(await seconds(3), ["way 192.0.2.7", "remove", "no fence"]);
    state = testState(1);
    assert.deepEqual((await seconds(1)).slice(0, 2), ["apply 1", "tend"]);
    way = wayTo("192.0.2.8");
    assert.deepEqual((await seconds(1)).slice(0, 2), ["way 192.0.2.8", "tend"]);
  });

  it("is fenced before anything else while other nodes could have its links", async () => {
    await seconds(1);
    done.splice(0);
    [state, way] = [testState(2), { ...wayTo("192.0.2.7"), gateway: [], nodes: ["192.0.2.7"] }];
    assert.deepEqual((await seconds(1)).slice(0, 2), ["fence 51820", "apply 2"]);
    way = { ...way, nodes: [] };
    assert.equal((await seconds(1))[0], "no fence");
    assert.deepEqual(await seconds(1), ["tend"]);
  });

  it("has its fence lead to who takes over, as soon as there is a way", async () => {
    [state, way] = [testState(1), { ...wayTo(""), gateway: [], nodes: ["192.0.2.7"], heir: ["192.0.2.7"] }];
    const all = await seconds(1);
    const [first, led] = [all.indexOf("fence 51820"), all.indexOf("fence 51820,eth0")];
    assert.ok(first >= 0 && first < all.indexOf("way ") && all.indexOf("way ") < led, String(all));
    const { heir: _, ...alone } = way as WayState;
    way = alone;
    assert.ok((await seconds(1)).includes("fence 51820"), "and to nobody any more");
  });

  it("makes ready what it has when another node falls silent, after all else, and looks whether that is still there", async () => {
    await seconds(1);
    done.splice(0);
    inherits = { ...testState(1), parallel: 2, carried: [1] };
    assert.deepEqual(await seconds(2), ["tend", "prepare 1", "tend"]);
    inherits = { ...testState(3), parallel: 2, carried: [1] };
    assert.deepEqual(await seconds(1), ["tend"], "whoever the peers are");
    assert.deepEqual(
      (await seconds(30)).filter((each) => each !== "tend"),
      ["check", "check the way", "prepare 1"],
    );
    fails = "prepare 0,1";
    inherits = { ...testState(1), parallel: 2, carried: [0, 1] };
    assert.deepEqual(await seconds(2), ["tend", "prepare 0,1", "tend", "prepare 0,1"]);
    assert.deepEqual(complaints, ["what another node may leave is not made ready for"]);
    fails = undefined;
    [state, way] = [undefined, wayTo("192.0.2.7")];
    assert.deepEqual(await seconds(1), ["way 192.0.2.7", "remove", "no fence", "prepare 0,1"]);
    inherits = undefined;
    assert.deepEqual(await seconds(2), ["prepare undefined"]);
  });

  it("has what was left there taken away where it is not the gateway", async () => {
    stop.abort();
    await running;
    assert.equal(done.splice(0).at(-1), "leave");
    stop = new AbortController();
    [state, way] = [undefined, wayTo("192.0.2.7")];
    running = begin();
    assert.deepEqual(await seconds(3), ["way 192.0.2.7", "remove", "no fence"]);
  });

  it("is changed at once where its source says that something has", async () => {
    await seconds(1);
    done.splice(0);
    state = testState(2);
    changed();
    await clock.advance(0);
    assert.deepEqual(done.splice(0), ["apply 2", "tend"]);
  });

  it("is looked after ten times a second while a better way is tried, and each time the peer is told", async () => {
    state = { ...testState(1), siteId: "own" };
    await seconds(1);
    reports = [{ siteId: "peer0", receivedBytes: 0, sentBytes: 0, isTrying: true }];
    await seconds(1);
    for (let i = 0; i < 10; i++) await clock.advance(100);
    const all = done.splice(0);
    assert.equal(all.filter((each) => each === "tend").length, 10);
    assert.equal(all.filter((each) => each === "invite peer0").length, 10);
    reports = [];
    await seconds(1);
    assert.deepEqual(await seconds(2), ["tend", "tend"]);
  });

  it("is looked after ten times a second while a peer takes another key, and not for ever where it never does", async () => {
    const looks = async (count: number) => {
      for (let i = 0; i < count * 10; i++) await clock.advance(100);
      return done.splice(0).filter((each) => each === "tend").length;
    };
    state = { ...testState(1), siteId: "own" };
    reports = [{ siteId: "peer0", receivedBytes: 0, sentBytes: 0, isTurning: true }];
    await looks(1);
    assert.equal(await looks(10), 100, "a key takes some seconds");
    await looks(10);
    const later = await looks(60);
    assert.ok(later < 70, `${later} looks in a minute`);
    reports = [];
    await looks(600);
    reports = [{ siteId: "peer0", receivedBytes: 0, sentBytes: 0, isTurning: true }];
    await looks(1);
    assert.equal(await looks(2), 20, "another key, some time later");
  });

  it("is not looked after ten times a second for many peers that take turns at being about to take another key", async () => {
    state = { ...testState(1), siteId: "own" };
    let looks = 0;
    for (let i = 0; i < 3_000; i++) {
      reports = [{ siteId: `peer${i % 200}`, receivedBytes: 0, sentBytes: 0, isTurning: true }];
      await clock.advance(100);
      looks += done.splice(0).filter((each) => each === "tend").length;
    }
    // 600 at once, and one more in two seconds, beside that of each second.
    assert.ok(looks < 1_200, `${looks} looks in five minutes`);
  });

  it("hears at once of a peer that tries a better way", async () => {
    await seconds(1);
    done.splice(0);
    invite("peer0");
    await clock.advance(0);
    assert.deepEqual(done.splice(0), ["invited by peer0", "tend"]);
  });

  it("looks after no links because a peer says again and again that it tries the direct way", async () => {
    await seconds(1);
    done.splice(0);
    follows = false;
    for (let i = 0; i < 100; i++) {
      invite("peer0");
      await clock.advance(5);
    }
    assert.deepEqual(new Set(done.splice(0)), new Set(["invited by peer0"]));
  });

  it("is left alone where only nobody hears of it", async () => {
    await seconds(1);
    told = async () => {
      throw new Error("the API is away");
    };
    assert.deepEqual(await seconds(3), ["tend", "tend", "tend"]);
    assert.deepEqual(complaints, ["nobody hears how links are"]);
  });
});
