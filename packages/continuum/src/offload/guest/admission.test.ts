import assert from "node:assert/strict";
import { test } from "node:test";
import { newObject, ShadowPod } from "@fjord/api";
import fc from "fast-check";
import type { LiveContract } from "../../live-contracts.ts";
import { type AdmissionSources, admit } from "./admission.ts";
import { RoomLedger } from "./room-ledger.ts";

const consumer = "consumerconsumerconsumer22";
const contract: LiveContract = {
  id: "c-1",
  consumer,
  resources: { cpu: "2", memory: "1Gi" },
  enforcement: "None",
  notAfter: Number.POSITIVE_INFINITY,
  takesPods: true,
  drained: false,
};

function shadowOf(spec: unknown): ShadowPod {
  return newObject(ShadowPod, {
    metadata: { name: "web", namespace: "shop-twin" },
    spec: { contract: "c-1", originUid: "u", pod: { spec: spec as { containers: [] } } },
  });
}

function decide(spec: unknown, more: Partial<LiveContract> = {}, sources: Partial<AdmissionSources> = {}): string {
  const shadow = shadowOf(spec);
  const contracts = { resolve: (name: string) => (name === "c-1" ? { ...contract, ...more } : undefined) };
  const ledger = new RoomLedger();
  return admit({ key: "k", shadow, consumer, isKnown: false, contracts, ledger, allowed: [], ...sources }).verdict
    .reason;
}

const asking = (resources: unknown) => ({ containers: [{ name: "main", image: "x", resources }] });
const plain = asking({});

test("a pod within its contract is taken", () => assert.equal(decide(plain), "WithinContract"));

test("a contract must be in force and the consumer's own", () => {
  assert.equal(decide(plain, {}, { contracts: { resolve: () => undefined } }), "ContractNotActive");
  assert.equal(decide(plain, { consumer: "somebodyelsesomebodyelse22" }), "ContractMissing");
});

test("a cordoned contract keeps what it has, a drained one does not", () => {
  assert.equal(decide(plain, { takesPods: false }), "Cordoned");
  assert.equal(decide(plain, { takesPods: false }, { isKnown: true }), "WithinContract");
  assert.equal(decide(plain, { takesPods: false, drained: true }, { isKnown: true }), "Cordoned");
});

test("more than was promised is refused", () => {
  assert.equal(decide(asking({ requests: { cpu: "2" } })), "WithinContract");
  assert.equal(decide(asking({ requests: { cpu: "2001m" } })), "AmountExceeded");
});

test("a limit alone is no way around what was promised", () => {
  for (const enforcement of ["None", "RequestsRequired", "LimitsEqualRequests"] as const) {
    const limits = { cpu: "2001m", memory: "1Mi" };
    assert.equal(decide(asking({ limits }), { enforcement }), "AmountExceeded");
  }
});

test("an amount of a million digits is refused like any that is too large", () => {
  const reason = admit({
    key: "k",
    shadow: shadowOf(asking({ requests: { cpu: "9".repeat(1_000_000) } })),
    consumer,
    isKnown: false,
    contracts: { resolve: () => contract },
    ledger: new RoomLedger(),
    allowed: [],
  }).verdict;
  assert.equal(reason.reason, "AmountExceeded");
  assert.ok(reason.message.length < 500);
});

test("init containers count where they ask for more than what follows", () => {
  const spec = { ...plain, initContainers: [{ name: "i", image: "x", resources: { requests: { cpu: "3" } } }] };
  assert.equal(decide(spec), "AmountExceeded");
});

test("requests must be stated where the contract asks for them", () => {
  const mode = { enforcement: "RequestsRequired" } as const;
  assert.equal(decide(asking({ requests: { cpu: "1", memory: "1Mi" } }), mode), "WithinContract");
  assert.equal(decide(asking({ limits: { cpu: "1", memory: "1Mi" } }), mode), "WithinContract");
  assert.equal(decide(asking({ requests: { cpu: "1" } }), mode), "RequestsMissing");
  assert.equal(decide(plain, mode), "RequestsMissing");
});

test("limits must be the requests where the contract asks for that", () => {
  const mode = { enforcement: "LimitsEqualRequests" } as const;
  const amounts = { cpu: "1", memory: "1Mi" };
  assert.equal(
    decide(asking({ requests: amounts, limits: { cpu: "1000m", memory: "1024Ki" } }), mode),
    "WithinContract",
  );
  assert.equal(decide(asking({ requests: amounts, limits: { ...amounts, cpu: "2" } }), mode), "LimitsDiffer");
  assert.equal(decide(asking({ requests: amounts }), mode), "LimitsDiffer");
});

test("what guests are not given is refused, unless the owner allows it", () => {
  const spec = { containers: [{ name: "main", image: "x", securityContext: { privileged: true } }] };
  assert.equal(decide(spec), "PodRefused");
  assert.equal(decide(spec, {}, { allowed: ["privileged"] }), "WithinContract");
});

test("whatever a consumer writes as a spec, it is decided", () => {
  const anything = fc.anything({ maxDepth: 5, withBigInt: false });
  const spec = fc.record(
    {
      containers: fc.oneof(anything, fc.array(anything)),
      volumes: anything,
      initContainers: anything,
      tolerations: anything,
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(spec, (given) => assert.equal(typeof decide(given), "string")),
    { numRuns: 300 },
  );
});

test("an amount below nothing gives nobody room", () => {
  const spec = { containers: [asking({ requests: { cpu: "-5" } }).containers[0]] };
  assert.equal(decide(spec), "PodRefused");
});
