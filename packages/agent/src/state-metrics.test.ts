import assert from "node:assert/strict";
import { test } from "node:test";
import { Registry, type SharedCaches } from "@fjord/kube";
import { stateMetrics } from "./state-metrics.ts";

const ready = (status: string) => ({ conditions: [{ type: "Ready", status }] });

/** What the API would hold. */
const objects: Record<string, object[]> = {
  Site: [
    {
      metadata: { name: "harbour" },
      spec: {},
      status: { role: "Self", id: "a", shared: { cpu: "4" }, free: { cpu: "2500m" }, ...ready("True") },
    },
    {
      metadata: { name: "wave" },
      spec: { id: "b", tier: "edge", endpoints: ["https://wave.example:7443"] },
      status: { role: "Peer", ...ready("False") },
    },
    { metadata: { name: "behind-nat" }, spec: {}, status: { role: "Peer", ...ready("False") } },
    { metadata: { name: "consumer" }, spec: { endpoints: [] }, status: { role: "Peer", ...ready("False") } },
  ],
  Peering: [{ metadata: { name: "p" }, spec: { site: "behind-nat" } }],
  Contract: [
    {
      metadata: { name: "c-1" },
      spec: {
        standing: "Open",
        terms: { consumer: "a", provider: "b", resources: { memory: "1Gi" }, notAfter: "2030-01-01T00:00:00Z" },
      },
      status: { side: "Consumer", phase: "Active" },
    },
    {
      metadata: { name: "c-2" },
      spec: { standing: "Open", terms: { consumer: "b", provider: "a", resources: { cpu: 1 } } },
      status: { side: "Provider", phase: "Ended" },
    },
  ],
  ShadowPod: [{ metadata: { name: "x", namespace: "twin" }, status: { phase: "Running" } }],
  Namespace: [{ metadata: { name: "twin", labels: { "fjord.dev/consumer": "b" } } }],
};

test("what the site knows is told by names that people know", async () => {
  const registry = new Registry();
  const open = ({ kind }: { kind: string }) => ({
    cache: {
      list: () => objects[kind] ?? [],
      get: ({ name }: { name: string }) =>
        (objects[kind] as { metadata: { name: string } }[]).find(({ metadata }) => metadata.name === name),
    },
  });
  stateMetrics(registry, { open } as unknown as SharedCaches);
  const text = await registry.metrics();
  for (const line of [
    'fjord_site_ready{site="harbour",role="Self"} 1',
    'fjord_site_ready{site="wave",role="Peer"} 0',
    'fjord_site_ready{site="behind-nat",role="Peer"} 0',
    'fjord_contract_amount{side="Consumer",site="wave",resource="memory"} 1073741824',
    'fjord_contracts{side="Provider",phase="Ended",standing="Open"} 1',
    'fjord_guest_pods{site="wave",phase="Running"} 1',
    'fjord_shared_amount{resource="cpu",state="free"} 2.5',
    'fjord_contract_end_timestamp_seconds{side="Consumer",contract="c-1"} 1893456000',
  ])
    assert.ok(text.includes(`${line}\n`), `${line} is not in\n${text}`);
  assert.ok(!text.includes('fjord_site_ready{site="consumer"'), "nobody has to reach a site that only consumes");
  assert.ok(!text.includes('resource="cpu"} 1\n'), "a contract that has ended promises nothing");
});
