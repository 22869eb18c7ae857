import assert from "node:assert/strict";
import { it } from "node:test";
import { type LogFields, silentLogger } from "@fjord/base";
import { Attempts } from "./attempts.ts";

it("says once for each reason what fails again and again, and anew once it was done", async () => {
  const said: string[] = [];
  const attempts = new Attempts({
    ...silentLogger,
    error: (message: string, fields: LogFields = {}) => void said.push(`${message}: ${fields.reason}`),
  });
  const make = (reason?: string) =>
    attempts.make("cannot", async () => {
      if (reason !== undefined) throw new Error(reason);
      return "done";
    });
  assert.equal(attempts.areDone, true);
  for (const reason of ["one", "one", "other"]) assert.equal(await make(reason), undefined);
  assert.deepEqual(said, ["cannot: one", "cannot: other"]);
  assert.equal(attempts.areDone, false);
  assert.equal(await make(), "done");
  assert.equal(attempts.areDone, true);
  await make("other");
  assert.deepEqual(said.slice(2), ["cannot: other"]);
});
