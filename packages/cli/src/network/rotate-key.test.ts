import assert from "node:assert/strict";
import { it } from "node:test";
import { Link, newObject } from "@fjord/api";
import { usesKey } from "./rotate-key.ts";

const id = "mzxw6ytboi2dcmrtgq2tmnzyhe";
const since = Date.parse("2030-01-01T00:00:30.700Z");

it("a link uses a key when the gateway has it, and has agreed with the peer since", () => {
  const link = (ownKey: string, handshakeAt: string): Link => ({
    ...newObject(Link, { metadata: { name: id }, spec: { site: id, publicKey: "k", endpoints: [], groups: [] } }),
    status: { ownKey, handshakeAt, conditions: [] },
  });
  assert.equal(usesKey(link("new", "2030-01-01T00:00:31Z"), "new", since), true);
  assert.equal(usesKey(link("new", "2030-01-01T00:00:30Z"), "new", since), true, "WireGuard tells whole seconds");
  assert.equal(usesKey(link("new", "2030-01-01T00:00:29Z"), "new", since), false);
  assert.equal(usesKey(link("old", "2030-01-01T00:00:31Z"), "new", since), false);
});
