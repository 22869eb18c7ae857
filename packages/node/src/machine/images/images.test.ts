import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom, silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import type { ImageStatus, ImageStore } from "../../runtime/images.ts";
import type { RuntimeSandbox } from "../../runtime/runtime.ts";
import { bytesOverThreshold, chooseImages, type ImageChoice } from "./choose-images.ts";
import { ImageCollector } from "./image-collector.ts";

function image(name: string, size = 10, pinned = false): ImageStatus {
  return { id: `sha256:${name}`, tags: [`${name}:1`], digests: [`${name}@sha256:d-${name}`], size, pinned };
}

const now = 1_000_000;
function choose(images: ImageStatus[], more: Partial<ImageChoice> = {}): string[] {
  const choice: ImageChoice = {
    images,
    inUse: new Set(),
    keep: new Set(),
    lastUsed: new Map(images.map(({ id }, i) => [id, i])),
    now,
    minAgeMs: 100,
    bytesToFree: Number.POSITIVE_INFINITY,
    ...more,
  };
  return chooseImages(choice).map(({ tags }) => tags[0] ?? "");
}

const abc = ["a", "b", "c"].map((name) => image(name));
const cases: [string, string[], string[]][] = [
  ["the longest unused first", choose(abc), ["a:1", "b:1", "c:1"]],
  ["no more than needed", choose(abc, { bytesToFree: 11 }), ["a:1", "b:1"]],
  ["nothing where nothing is needed", choose(abc, { bytesToFree: 0 }), []],
  ["not what is in use by id", choose(abc, { inUse: new Set(["sha256:a"]) }), ["b:1", "c:1"]],
  ["not what is in use by digest", choose(abc, { inUse: new Set(["b@sha256:d-b"]) }), ["a:1", "c:1"]],
  ["not what is kept by name", choose(abc, { keep: new Set(["c:1"]) }), ["a:1", "b:1"]],
  ["not what is pinned", choose([image("p", 10, true), image("a")]), ["a:1"]],
  [
    "not what was used a moment ago",
    choose(abc, {
      lastUsed: new Map([
        ["sha256:a", now - 99],
        ["sha256:b", 1],
        ["sha256:c", 2],
      ]),
    }),
    ["b:1", "c:1"],
  ],
  ["not what was never seen before", choose(abc, { lastUsed: new Map() }), []],
  [
    "the larger of two that are alike",
    choose([image("s", 1), image("l", 5)], {
      lastUsed: new Map([
        ["sha256:s", 1],
        ["sha256:l", 1],
      ]),
    }),
    ["l:1", "s:1"],
  ],
];
for (const [what, found, expected] of cases) test(`removes ${what}`, () => assert.deepEqual(found, expected));

test("images go from the high mark down to the low one", () => {
  const marks = { high: 85, low: 80 };
  assert.equal(bytesOverThreshold({ usedBytes: 84, capacityBytes: 100 }, marks), 0);
  assert.equal(bytesOverThreshold({ usedBytes: 85, capacityBytes: 100 }, marks), 5);
  assert.equal(bytesOverThreshold({ usedBytes: 0, capacityBytes: 0 }, marks), 0);
});

test("a disk that fills up is freed of images that no container has, and no others", async () => {
  const clock = new ManualClock();
  let images = [image("used", 30), image("old", 30), image("new", 30), image("pause", 1)];
  const removed: string[] = [];
  const store: Pick<ImageStore, "list" | "remove" | "fileSystem"> = {
    list: async () => images,
    remove: async (id) => {
      removed.push(id);
      images = images.filter((each) => each.id !== id);
    },
    fileSystem: async () => ({ mountpoint: "/images", usedBytes: 0, inodesUsed: 0 }),
  };
  const sandbox = { containers: [{ image: "used:1", imageId: "sha256:used" }] } as unknown as RuntimeSandbox;
  let usedBytes = 50;
  const collector = new ImageCollector({
    runtime: { images: store as ImageStore, list: async () => [sandbox] },
    usage: async () => ({ time: 0, capacityBytes: 100, availableBytes: 0, usedBytes, inodes: 0, inodesFree: 0 }),
    keep: ["pause:1"],
    clock,
    random: seededRandom(1),
    logger: silentLogger,
  });
  assert.equal(await collector.collect(), 0);
  await clock.advance(150_000);
  usedBytes = 95;
  assert.equal(await collector.collect(), 30);
  assert.deepEqual(removed, ["sha256:old"]);
  assert.equal(await collector.collectAll(), 30);
  assert.deepEqual(removed, ["sha256:old", "sha256:new"]);
  assert.deepEqual(
    images.map(({ tags }) => tags[0]),
    ["used:1", "pause:1"],
  );
});

test("an image that cannot be removed does not keep the others", async () => {
  const clock = new ManualClock();
  const images = [image("stuck"), image("loose")];
  const removed: string[] = [];
  const store: Pick<ImageStore, "list" | "remove"> = {
    list: async () => images,
    remove: async (id) => {
      if (id === "sha256:stuck") throw new Error("in use after all");
      removed.push(id);
    },
  };
  const collector = new ImageCollector({
    runtime: { images: store as ImageStore, list: async () => [] },
    usage: () => Promise.reject(new Error("not asked")),
    minAgeMs: 0,
    clock,
    random: seededRandom(1),
    logger: silentLogger,
  });
  assert.equal(await collector.collectAll(), 10);
  assert.deepEqual(removed, ["sha256:loose"]);
});
