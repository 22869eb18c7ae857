import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "@fjord/kube";
import type { KnownPlaces } from "./known-places.ts";
import { containersIn, type LogReading, readLogs, streamsOf, unreadText } from "./log-streams.ts";

const pod = (name: string, nodeName: string | undefined, containers = ["main"], init: string[] = []): Pod =>
  ({
    metadata: { name },
    spec: {
      nodeName,
      containers: containers.map((each) => ({ name: each })),
      initContainers: init.map((each) => ({ name: each })),
    },
  }) as unknown as Pod;

const site = (name: string, role: "Self" | "Peer", reachable = true) => ({
  metadata: { name },
  spec: {},
  status: {
    id: `id-${name}`,
    role,
    conditions: [
      { type: "Reachable", status: reachable ? "True" : "False", reason: "TimedOut", message: "no answer in time" },
    ],
  },
});

const places = (isWaveThere: boolean): KnownPlaces =>
  ({
    sites: [site("harbor", "Self"), site("wave", "Peer", isWaveThere), site("reef", "Peer")],
    virtualNodes: ["wave", "reef"].map((name) => ({
      metadata: { name },
      spec: { contract: `c-${name}` },
      status: { provider: `id-${name}` },
    })),
    contracts: [],
    peerings: [],
  }) as unknown as KnownPlaces;

const pods = [pod("a", "wave"), pod("b", "harbor-1"), pod("c", "wave"), pod("d", "reef")];

function reading(known: readonly KnownPlaces[], read: LogReading["read"], together = false) {
  const told: string[] = [];
  let looks = 0;
  const options: LogReading = {
    places: async () => known[Math.min(looks++, known.length - 1)] as KnownPlaces,
    read,
    together,
    told: (text) => void told.push(text),
    signal: new AbortController().signal,
  };
  return { options, told };
}

test("a site that does not answer is not asked, and the others are read", async () => {
  for (const together of [false, true]) {
    const asked: string[] = [];
    const read: LogReading["read"] = async ({ pod: { metadata } }, name) => void asked.push(`${name} ${metadata.name}`);
    const { options, told } = reading([places(false)], read, together);
    const failed = await readLogs(streamsOf(pods, undefined), options);
    assert.deepEqual(asked, ["harbor b", "reef d"]);
    assert.deepEqual(told, [
      "pod a, at wave: wave does not answer (no answer in time)",
      "pod c, at wave: wave does not answer (no answer in time)",
    ]);
    assert.equal(unreadText(failed), "pod a, pod c, at wave: wave does not answer (no answer in time)");
  }
});

test("a site that falls silent is asked once, and then known to be silent", async () => {
  const asked: string[] = [];
  const read: LogReading["read"] = async ({ pod: { metadata } }, name) => {
    asked.push(metadata.name ?? "");
    if (name === "wave") throw new Error("503");
  };
  const { options } = reading([places(true), places(false)], read);
  const failed = await readLogs(streamsOf(pods, undefined), options);
  assert.deepEqual(asked, ["a", "b", "d"]);
  assert.match(unreadText(failed), /^pod a, pod c, at wave: wave does not answer [^;]*$/);
});

test("what else goes wrong is told in its own words, with pod, container and site", async () => {
  const read = async () => {
    throw new Error("the container is waiting to start");
  };
  const { options, told } = reading([places(true)], read);
  const two = [pod("b", "harbor-1", ["main", "side"]), pod("e", undefined)];
  const failed = await readLogs(streamsOf(two, undefined), options);
  assert.deepEqual(told, [
    "pod b (main), at harbor: the container is waiting to start",
    "pod b (side), at harbor: the container is waiting to start",
    "pod e: it has not begun: no node has been chosen for it yet",
  ]);
  const why = "the container is waiting to start";
  assert.equal(
    unreadText(failed),
    `pod b (main), pod b (side), at harbor: ${why}; pod e: it has not begun: no node has been chosen for it yet`,
  );
});

test("Ctrl-C is no failure of a log", async () => {
  const abort = new AbortController();
  const read = async () => {
    abort.abort(new Error("interrupted"));
    throw new Error("the stream ended");
  };
  const { options } = reading([places(true)], read);
  await assert.rejects(readLogs(streamsOf(pods, undefined), { ...options, signal: abort.signal }), /interrupted/);
});

test("a container is chosen by name, init containers only so", () => {
  const both = [pod("a", "n", ["main", "side"], ["prepare"]), pod("b", "n", ["main"])];
  const names = (wanted?: string) =>
    streamsOf(both, wanted).map((each) => `${each.pod.metadata.name} ${each.container}`);
  assert.deepEqual(names(), ["a main", "a side", "b main"]);
  assert.deepEqual(names("prepare"), ["a prepare"]);
  assert.deepEqual(names("nope"), []);
  assert.deepEqual(containersIn(both), ["prepare", "main", "side"]);
});

test("of a pod that waits, or was refused, its own reason is told, and no server's", async () => {
  const read: LogReading["read"] = async () => {
    throw new Error("cannot read log: the server could not find the requested resource ( pods a) (404 NotFound)");
  };
  const why = async (status: object, nodeName: string | undefined = "wave") => {
    const waiting = { ...pod("a", nodeName), status } as unknown as Pod;
    return unreadText(await readLogs(streamsOf([waiting], undefined), reading([places(true)], read).options));
  };
  const waiting = { reason: "ImagePullBackOff", message: "Back-off pulling\n image." };
  assert.equal(
    await why({ containerStatuses: [{ name: "main", state: { waiting } }] }),
    "pod a, at wave: container main is waiting to start: ImagePullBackOff: Back-off pulling image",
  );
  const refused = { type: "fjord.dev/Offloaded", status: "False", reason: "OffloadingRefused", message: "hostNetwork" };
  assert.equal(
    await why({ conditions: [refused] }),
    "pod a, at wave: it has not been taken: OffloadingRefused: hostNetwork",
  );
  assert.equal(await why({}, ""), "pod a, at harbor: it has not begun: no node has been chosen for it yet");
  const running = { containerStatuses: [{ name: "main", state: { running: {} } }] };
  assert.match(await why(running), /could not find the requested resource/);
});
