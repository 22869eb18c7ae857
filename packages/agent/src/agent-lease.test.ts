import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import type { Home } from "@fjord/continuum/home";
import type { Lease } from "@fjord/kube";
import { AgentLease } from "./agent-lease.ts";

test("an agent renews its lease while it lives, whatever becomes of a renewal, and frees it when it ends", async () => {
  const clock = new ManualClock();
  const written: Lease["spec"][] = [];
  const client = {
    apply: async (_kind: unknown, { spec }: Lease) => {
      written.push(spec);
      if (written.length === 2) throw new Error("the API is away");
    },
  };
  const home = { client, clock, logger: silentLogger, namespace: "fjord-system" } as unknown as Home;
  const stop = new AbortController();
  const running = new AgentLease(home, "host_1").run(stop.signal);
  await clock.advance(5_000);
  await clock.advance(5_000);
  stop.abort();
  await running;
  assert.deepEqual(
    written.map((spec) => [
      spec?.holderIdentity,
      Date.parse(spec?.renewTime ?? "") - Date.parse(written[0]?.renewTime ?? ""),
    ]),
    [
      ["host_1", 0],
      ["host_1", 5_000],
      ["host_1", 10_000],
      [undefined, 10_000],
    ],
  );
});
