import assert from "node:assert/strict";
import { it } from "node:test";
import { silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import type { Home } from "../home.ts";
import type { RemoteSite } from "../remote-site.ts";
import { ConsumerContracts } from "./consumer-contracts.ts";
import type { ContractStore } from "./contract-store.ts";
import type { Negotiation } from "./negotiation.ts";

const [PROVIDER, OWN] = ["p".repeat(26), "o".repeat(26)] as const;

it("contracts that a provider has made up, and goes on to tell of, are called off a few at a time", async () => {
  const clock = new ManualClock();
  const stop = new AbortController();
  let told = (_: string) => {};
  let reports = 0;
  let asked = 0;
  const contract = (i: number) => ({
    id: `c-made-up-${i}`,
    phase: "Active",
    standing: "Open",
    tenantReady: true,
    limit: { cpu: "1", memory: `${reports}Mi`, pods: "7" },
  });
  const all = () => Array.from({ length: 1_024 }, (_, i) => contract(i));
  let contracts = all();
  let isAsked = false;
  const provider = {
    id: PROVIDER,
    get report() {
      return { id: PROVIDER, published: {}, endpoints: [], contracts };
    },
    reachability: { reachable: true },
    refresh: () => {
      isAsked = true;
    },
    call: async () => void asked++,
  } as unknown as RemoteSite;
  const store = {
    all: () => [],
    get: () => undefined,
    fresh: async () => {},
    known: async () => {},
    onChange: () => () => {},
  };
  const means = { clock, random: Math.random, logger: silentLogger };
  const ended = new ConsumerContracts({
    home: { ...means, identity: { id: OWN } } as unknown as Home,
    store: store as unknown as ContractStore,
    sites: {
      get: () => provider,
      list: () => [provider],
      onChange: (listener) => {
        told = listener;
        return () => {};
      },
    },
    negotiation: {} as Negotiation,
  }).run(stop.signal, stop.signal);
  const before = process.cpuUsage();
  for (let ms = 0; ms < 12_000; ms += 10) {
    await clock.advance(10);
    if (!isAsked && ms % 800 !== 0) continue;
    // It answers at once, and something else each time.
    isAsked = false;
    reports++;
    contracts = all();
    told(PROVIDER);
  }
  const { user, system } = process.cpuUsage(before);
  stop.abort();
  await ended;
  assert.ok(asked >= 16 && asked <= 3 * 16, `${asked} were called off`);
  assert.ok(reports < 3 * 16 + 20, `${reports} reports`);
  // With each report read for each of a thousand contracts it was six seconds.
  assert.ok(user + system < 2_000_000, `${user + system} µs`);
});
