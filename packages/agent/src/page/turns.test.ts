import assert from "node:assert/strict";
import { test } from "node:test";
import { Turns } from "./turns.ts";

/** Work that is done when it is told to be, in the order in which it began. */
function bench() {
  const turns = new Turns();
  const begun: { who: string; end: () => void }[] = [];
  const refused: string[] = [];
  const take = (who: string) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    return turns
      .take(who, () => {
        begun.push({ who, end: resolve });
        return promise;
      })
      .catch((error: { code?: string }) => void refused.push(`${who} ${error.code}`));
  };
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return { take, begun, refused, settle };
}

test("eight at a time, and those who wait get their turns one after the other, however many each has", async () => {
  const { take, begun, settle } = bench();
  const all = [...Array.from({ length: 12 }, () => take("flood")), take("ann"), take("bob")];
  await settle();
  assert.equal(begun.length, 8);
  for (let done = 0; done < 3; done++) {
    begun[done]?.end();
    await settle();
  }
  assert.deepEqual(
    begun.slice(8).map(({ who }) => who),
    ["flood", "ann", "bob"],
  );
  for (let done = 3; done < 14; done++) {
    begun[done]?.end();
    await settle();
  }
  await Promise.all(all);
  assert.equal(begun.length, 14);
  const last = take("ann");
  await settle();
  assert.equal(begun.length, 15, "all places are free again");
  begun[14]?.end();
  await last;
});

test("where all places are taken, whoever has most of them gives one up, and never the one who has none", async () => {
  const { take, begun, refused, settle } = bench();
  const all = Array.from({ length: 8 + 64 }, () => take("flood"));
  await settle();
  assert.deepEqual(refused, []);
  all.push(take("flood"));
  await settle();
  assert.deepEqual(refused, ["flood PAGE_TOO_MANY_LOGINS"]);
  all.push(take("ann"));
  await settle();
  assert.deepEqual(refused, Array(2).fill("flood PAGE_TOO_MANY_LOGINS"));
  for (let done = 0; done < 8 + 64; done++) {
    begun[done]?.end();
    await settle();
  }
  await Promise.all(all);
  assert.ok(begun.some(({ who }) => who === "ann"));
});

test("what fails gives its place back", async () => {
  const turns = new Turns();
  for (let time = 0; time < 20; time++)
    await assert.rejects(
      turns.take("ann", () => Promise.reject(new Error("no"))),
      { message: "no" },
    );
  assert.equal(await turns.take("ann", async () => "in"), "in");
});
