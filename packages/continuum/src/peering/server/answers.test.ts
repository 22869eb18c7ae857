import assert from "node:assert/strict";
import { test } from "node:test";
import { PeerRefused } from "../../peer-refused-error.ts";
import type { PeerCall, PeerRoute } from "../../peer-routes.ts";
import { leaderOnly } from "./answers.ts";

test("what only one of several agents may decide, the others refuse until they lead", async () => {
  const route: PeerRoute = { method: "POST", path: "/contracts", access: "consumer", handle: async () => "agreed" };
  let leads = false;
  const guarded = leaderOnly(route, () => leads);
  assert.deepEqual([guarded.method, guarded.path, guarded.access], ["POST", "/contracts", "consumer"]);
  await assert.rejects(guarded.handle({} as PeerCall), (error) => {
    assert.ok(error instanceof PeerRefused);
    return error.statusCode === 503 && error.refusal.code === "NotLeading";
  });
  leads = true;
  assert.equal(await guarded.handle({} as PeerCall), "agreed");
});
