import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { KeptObjects, type KeptObjectsOptions } from "./kept-objects.ts";

const words: KeptObjectsOptions["words"] = (has, may) =>
  `${has.objects} objects of ${has.bytes} bytes, and may have ${may.objects} of ${may.bytes}`;

/** The objects of a tenant that may keep three of 100 bytes together, and an API that has what the test puts there. */
function tenant(stored: Record<string, number> = {}) {
  const clock = new ManualClock();
  const api = new Map(Object.entries(stored));
  let counts = 0;
  const kept = new KeptObjects({
    words,
    limits: () => ({ objects: 3, bytes: 100 }),
    count: async () => {
      counts++;
      return api;
    },
    clock,
    logger: silentLogger,
  });
  const create = async (key: string, bytes = 10) => {
    const settle = await kept.admit(key, "replaces", bytes);
    return settle({ kept: bytes });
  };
  return { clock, api, kept, create, counts: () => counts };
}

const full = {
  status: 403,
  message: /^quota exceeded: this consumer has [123] objects of \d+ bytes, and may have \d of 100$/,
};

describe("what a tenant keeps", () => {
  it("is bounded in number, however many come at once", async () => {
    const { kept, create } = tenant();
    await create("a");
    const settles = await Promise.allSettled(["b", "c", "d", "e"].map(async (key) => kept.admit(key, "replaces", 10)));
    assert.deepEqual(
      settles.map(({ status }) => status),
      ["fulfilled", "fulfilled", "rejected", "rejected"],
    );
    await assert.rejects(create("f"), full);
  });

  it("is bounded in bytes, whether they are made, replaced or added by a patch", async () => {
    const { kept, create } = tenant();
    await create("a", 60);
    await assert.rejects(create("b", 50), full);
    await create("b", 40);
    assert.throws(() => kept.admit("b", "adds", 1), full);
    assert.throws(() => kept.admit("b", "replaces", 41), full);
    await create("b", 30);
    assert.equal((await kept.admit("b", "adds", 10))({ kept: 35 }), 35);
    await create("c", 5);
  });

  it("is never less for what asks for less than nothing", async () => {
    const { kept, create } = tenant();
    await create("a", 100);
    const under = await kept.admit("b", "replaces", -1_000);
    await assert.rejects(create("c", 1), full);
    assert.equal(under("unknown"), 0);
    await assert.rejects(create("c", 1), full);
    assert.throws(() => kept.admit("a", "adds", -1_000) && kept.admit("a", "adds", 1), full);
  });

  it("begins with what is there, and has room again for what goes", async () => {
    const { kept, create } = tenant({ a: 10, b: 10 });
    await create("c");
    await assert.rejects(create("d"), full);
    kept.settleDeletion("a")("undone");
    await assert.rejects(create("d"), full);
    kept.settleDeletion("a")("gone");
    await create("d");
  });

  it("takes nothing where nothing was written, and all of it where nobody knows", async () => {
    const { kept, create } = tenant();
    await create("a");
    await create("b");
    (await kept.admit("c", "replaces", 10))("undone");
    (await kept.admit("c", "replaces", 10))("gone");
    assert.equal((await kept.admit("c", "replaces", 10))("unknown"), 10);
    await assert.rejects(create("d"), full);
  });

  it("is counted again when the room is used up, but not at every request", async () => {
    const { clock, api, create, counts } = tenant();
    for (const key of ["a", "b", "c"]) {
      await create(key);
      api.set(key, 10);
    }
    await assert.rejects(create("d"), full);
    const before = counts();
    await assert.rejects(create("d"), full);
    assert.equal(counts(), before);
    // Its namespace went, and no request said so.
    api.delete("b");
    await clock.advance(5_000);
    await create("d");
    assert.equal(counts(), before + 1);
  });

  it("counts what comes and goes while it is counted", async () => {
    const clock = new ManualClock();
    const counted = Promise.withResolvers<Map<string, number>>();
    const limits = () => ({ objects: 3, bytes: 100 });
    const count = () => counted.promise;
    const kept = new KeptObjects({ words, limits, count, clock, logger: silentLogger });
    (await kept.admit("a", "replaces", 10))({ kept: 10 });
    (await kept.admit("b", "replaces", 10))({ kept: 10 });
    kept.settleDeletion("gone")("gone");
    const settle = await kept.admit("c", "replaces", 10);
    // The count looked before all that.
    counted.resolve(new Map([["gone", 10]]));
    await clock.advance(0);
    assert.throws(() => kept.admit("d", "replaces", 10), full);
    settle("undone");
    await kept.admit("d", "replaces", 10);
  });

  it("is what one of several writes has left, whichever of their answers comes last", async () => {
    const { kept, create } = tenant();
    const lost = await kept.admit("a", "replaces", 60);
    const won = await kept.admit("a", "replaces", 60);
    won({ kept: 60 });
    lost("undone");
    await assert.rejects(create("b", 50), full);
    const deletion = kept.settleDeletion("a");
    const made = await kept.admit("a", "replaces", 60);
    made({ kept: 60 });
    deletion("gone");
    await assert.rejects(create("b", 50), full);
    kept.settleDeletion("a")("gone");
    await create("b", 100);
  });

  it("is as much as it was where a write raises it, until a count finds less", async () => {
    const { clock, api, kept, create } = tenant();
    await create("a", 60);
    (await kept.admit("a", "raises", 1))({ kept: 1 });
    (await kept.admit("a", "raises", 1))("unknown");
    await assert.rejects(create("b", 50), full);
    const [more, less] = [await kept.admit("a", "raises", 100), await kept.admit("a", "raises", 1)];
    more("undone");
    less({ kept: 1 });
    await assert.rejects(create("b", 50), full);
    await create("b", 40);
    assert.throws(() => kept.admit("a", "raises", 61), full);
    api.set("a", 1).set("b", 40);
    await clock.advance(5_000);
    await create("b", 99);
  });

  it("is what was found of it while a write that came to nothing was under way", async () => {
    const { kept, create } = tenant({ a: 60 });
    const settle = await kept.admit("a", "replaces", 60);
    await assert.rejects(create("b", 50), full);
    settle("undone");
    await assert.rejects(create("b", 50), full);
  });

  it("is what a count finds where a write came to nothing meanwhile", async () => {
    const clock = new ManualClock();
    const counted = Promise.withResolvers<Map<string, number>>();
    const limits = () => ({ objects: 3, bytes: 100 });
    const count = () => counted.promise;
    const kept = new KeptObjects({ words, limits, count, clock, logger: silentLogger });
    (await kept.admit("a", "adds", 1))("undone");
    (await kept.admit("b", "replaces", 1))("undone");
    kept.settleDeletion("c")("undone");
    counted.resolve(new Map(Object.entries({ a: 30, b: 30, c: 30 })));
    await clock.advance(0);
    assert.throws(() => kept.admit("a", "adds", 11), full);
    await kept.admit("a", "adds", 10);
  });

  it("is what a count finds, too, where a write raises it meanwhile", async () => {
    const clock = new ManualClock();
    const counted = Promise.withResolvers<Map<string, number>>();
    const limits = () => ({ objects: 3, bytes: 100 });
    const count = () => counted.promise;
    const kept = new KeptObjects({ words, limits, count, clock, logger: silentLogger });
    const settle = await kept.admit("a", "raises", 1);
    (await kept.admit("b", "raises", 20))({ kept: 20 });
    settle({ kept: 1 });
    (await kept.admit("c", "raises", 1))({ kept: 1 });
    kept.settleDeletion("c")("gone");
    counted.resolve(new Map(Object.entries({ a: 60, b: 1, c: 90 })));
    await clock.advance(0);
    assert.throws(() => kept.admit("d", "replaces", 21), full);
    await kept.admit("d", "replaces", 20);
  });

  it("begins with what is there also where that could not be counted at first", async () => {
    const clock = new ManualClock();
    let counts = 0;
    const count = async () => (counts++ === 0 ? Promise.reject(new Error("away")) : new Map([["old", 95]]));
    const limits = () => ({ objects: 3, bytes: 100 });
    const kept = new KeptObjects({ words, limits, count, clock, logger: silentLogger });
    (await kept.admit("a", "replaces", 1))({ kept: 1 });
    await clock.advance(0);
    (await kept.admit("b", "replaces", 1))({ kept: 1 });
    assert.equal(counts, 1);
    await clock.advance(5_000);
    (await kept.admit("b", "replaces", 1))({ kept: 1 });
    await clock.advance(0);
    assert.throws(() => kept.admit("c", "replaces", 10), full);
  });

  it("is what it was where it cannot be counted", async () => {
    const clock = new ManualClock();
    const count = async () => Promise.reject(new Error("away"));
    const limits = () => ({ objects: 1, bytes: 100 });
    const kept = new KeptObjects({ words, limits, count, clock, logger: silentLogger });
    (await kept.admit("a", "replaces", 10))({ kept: 10 });
    await assert.rejects(async () => kept.admit("b", "replaces", 10), /quota exceeded/);
  });
});
