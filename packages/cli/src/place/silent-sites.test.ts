import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@fjord/base/testing";
import type { KnownPlaces } from "./known-places.ts";
import { watchSilence } from "./silent-sites.ts";

function places(reachable: string): KnownPlaces {
  const conditions = [{ type: "Reachable", status: reachable, reason: "x", message: "no answer for 5 s" }];
  return {
    sites: [
      { metadata: { name: "harbour" }, spec: {}, status: { role: "Self", id: "a" } },
      { metadata: { name: "wave" }, spec: { id: "b" }, status: { role: "Peer", conditions } },
    ],
    virtualNodes: [{ metadata: { name: "node-wave" }, spec: { contract: "c-1" }, status: { provider: "b" } }],
    contracts: [],
    peerings: [],
  } as unknown as KnownPlaces;
}

test("whoever waits for a log is told when its site falls silent, once, and when it is back", async () => {
  const clock = new ManualClock();
  const end = new AbortController();
  const looks: (KnownPlaces | Error)[] = [
    places("True"),
    places("False"),
    new Error("the own API is away"),
    places("False"),
    places("True"),
  ];
  const told: string[] = [];
  const watching = watchSilence(["node-wave", "node-wave", "node-1"], {
    places: async () => {
      const next = looks.shift();
      if (looks.length === 0) end.abort();
      else setImmediate(() => clock.advance(5_000));
      if (next instanceof Error || next === undefined) throw next;
      return next;
    },
    told: (text) => void told.push(text),
    clock,
    signal: end.signal,
  });
  clock.advance(5_000);
  await watching;
  assert.deepEqual(told, ["wave does not answer (no answer for 5 s); waiting for it"]);

  const back = new AbortController();
  const again = [places("False"), places("True")];
  const later = watchSilence(["node-wave"], {
    places: async () => {
      setImmediate(() => clock.advance(5_000));
      return again.shift() ?? places("True");
    },
    told: (text) => {
      told.push(text);
      if (text.endsWith("again")) back.abort();
    },
    clock,
    signal: back.signal,
  });
  clock.advance(5_000);
  await later;
  assert.deepEqual(told.slice(1), ["wave does not answer (no answer for 5 s); waiting for it", "wave answers again"]);
});
