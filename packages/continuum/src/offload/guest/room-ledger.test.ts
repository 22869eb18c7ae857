import assert from "node:assert/strict";
import { test } from "node:test";
import { amountsOf } from "@fjord/node/pod-status";
import fc from "fast-check";
import { RoomLedger } from "./room-ledger.ts";

const line = (name: string) => name === "c-1" || name === "c-2";
const promised = { cpu: "2", memory: "1Gi", pods: 3 };
const of = (cpu: string, memory = "0") => amountsOf({ cpu, memory });

test("what is taken is counted once, and given back once", () => {
  const ledger = new RoomLedger();
  ledger.set("a", "c-1", of("1500m"));
  ledger.set("a", "c-1", of("1500m"));
  assert.match(ledger.lacking("b", of("600m"), promised, line) ?? "", /600m cpu asked for, 1500m of 2 taken/);
  assert.equal(ledger.lacking("b", of("500m"), promised, line), undefined);
  assert.equal(ledger.delete("a"), true);
  assert.equal(ledger.delete("a"), false);
  assert.deepEqual([...ledger.used(line)], []);
});

test("a contract and the one it superseded have one room together", () => {
  const ledger = new RoomLedger();
  ledger.set("a", "c-1", of("1"));
  ledger.set("b", "c-2", of("1"));
  assert.notEqual(ledger.lacking("c", of("1m"), promised, line), undefined);
  assert.equal(
    ledger.lacking("c", of("1m"), promised, (name) => name === "c-3"),
    undefined,
  );
});

test("what a guest takes already is free to itself, so that it may grow", () => {
  const ledger = new RoomLedger();
  ledger.set("a", "c-1", of("1"));
  assert.equal(ledger.lacking("a", of("2"), promised, line), undefined);
  assert.notEqual(ledger.lacking("a", of("2001m"), promised, line), undefined);
});

test("pods are counted, where the contract counts them", () => {
  const ledger = new RoomLedger();
  for (const key of ["a", "b", "c"]) ledger.set(key, "c-1", of("0"));
  assert.match(ledger.lacking("d", of("0"), promised, line) ?? "", /1 pods asked for, 3 of 3 taken/);
  assert.equal(ledger.lacking("d", of("0"), { cpu: "1" }, line), undefined);
});

test("what the contract does not promise is not there", () => {
  const gpu = amountsOf({ "example.com/gpu": "1" });
  assert.match(new RoomLedger().lacking("a", gpu, promised, line) ?? "", /promises no example.com\/gpu/);
});

test("whatever comes and goes, no more is ever given than was promised", () => {
  const step = fc.record({
    key: fc.constantFrom("a", "b", "c", "d", "e"),
    cpu: fc.integer({ min: 0, max: 2_500 }),
    comes: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const ledger = new RoomLedger();
      const model = new Map<string, number>();
      for (const { key, cpu, comes } of steps) {
        if (!comes) {
          assert.equal(ledger.delete(key), model.delete(key));
          continue;
        }
        if (ledger.lacking(key, of(`${cpu}m`), promised, line) !== undefined) continue;
        ledger.set(key, cpu % 2 === 0 ? "c-1" : "c-2", of(`${cpu}m`));
        model.set(key, cpu);
        const sum = model.values().reduce((a, b) => a + b, 0);
        assert.ok(sum <= 2_000 && model.size <= 3);
        assert.equal(ledger.used(line).get("cpu") ?? 0n, BigInt(sum) * 1_000_000n);
      }
    }),
  );
});
