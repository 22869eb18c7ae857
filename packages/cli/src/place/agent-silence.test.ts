import assert from "node:assert/strict";
import { test } from "node:test";
import type { Site } from "@fjord/api";
import { systemClock } from "@fjord/base";
import { ApiError, type KubeClient, type Lease } from "@fjord/kube";
import { agentSilence, silenced, silenceOf } from "./agent-silence.ts";

const lease = (renewTime: string, holderIdentity?: string) =>
  ({ metadata: {}, spec: { renewTime, leaseDurationSeconds: 15, ...(holderIdentity && { holderIdentity }) } }) as Lease;
const at = (time: string) => Date.parse(`2030-01-01T${time}Z`);
const renewed = lease("2030-01-01T10:00:00.000000Z", "host_1");

test("an agent is heard while it renews its lease, and is told of when it does not", () => {
  assert.equal(silenceOf(renewed, at("10:00:19")), undefined);
  const silence = "the agent of this site has not been heard of since 2030-01-01T10:00:00.000Z";
  assert.equal(silenceOf(renewed, at("10:00:21")), silence);
  const left = lease("2030-01-01T10:00:00.000000Z");
  assert.equal(silenceOf(left, at("10:00:01")), "the agent of this site has ended at 2030-01-01T10:00:00.000Z");
});

test("an agent is heard in its own namespace alone, whoever makes a lease of that name in another", async () => {
  const asked: string[] = [];
  const client = (namespace: string | undefined, leases: Record<string, Lease>) => {
    const own = { status: { role: "Self", ...(namespace && { agentNamespace: namespace }) } };
    return {
      list: async () => ({ items: [{ status: { role: "Peer", agentNamespace: "elsewhere" } }, own] }),
      raw: async (_: string, path: string) => {
        asked.push(path);
        const [, named = ""] = /\/namespaces\/([^/]+)\/leases\/fjord-agent$/.exec(path) ?? [];
        const found = leases[named];
        if (found === undefined) throw new ApiError({ action: "get", statusCode: 404, text: "no lease" });
        return { body: Buffer.from(JSON.stringify(found)), headers: { date: "Tue, 01 Jan 2030 11:00:00 GMT" } };
      },
    } as unknown as KubeClient;
  };
  const forged = lease("2030-01-01T11:00:00.000000Z", "nobody");
  const { signal } = new AbortController();
  const silence = (namespace: string | undefined, leases: Record<string, Lease>) =>
    agentSilence(client(namespace, leases), { clock: systemClock }, signal);
  assert.match(
    (await silence("agents", { agents: renewed, shop: forged })) ?? "",
    /^the agent of this site has not been/,
  );
  assert.match((await silence(undefined, { "fjord-system": renewed, shop: forged })) ?? "", /has not been heard of/);
  assert.equal(await silence("agents", { agents: forged, shop: renewed }), undefined);
  assert.equal(await silence("agents", { shop: renewed }), undefined, "none there");
});

test("an agent whose clock is wrong is heard by the clock of its API server", () => {
  const written = (time: string) =>
    ({ ...renewed, metadata: { managedFields: [{ time: "2029-12-31T00:00:00Z" }, {}, { time }] } }) as Lease;
  assert.equal(silenceOf(written("2030-01-01T12:00:00Z"), at("12:00:19")), undefined, "behind");
  const silence = "the agent of this site has not been heard of since 2030-01-01T09:00:00.000Z";
  assert.equal(silenceOf(written("2030-01-01T09:00:00Z"), at("09:00:21")), silence, "ahead");
});

test("the own site is shown as what its agent is, and others as they were", () => {
  const conditions = [{ type: "Ready", status: "True", reason: "Serving", message: "", lastTransitionTime: "x" }];
  const site = (role: string) =>
    ({ metadata: { name: role }, spec: {}, status: { role, conditions } }) as unknown as Site;
  const [ready] = silenced(site("Self"), "silent", 0).status?.conditions ?? [];
  assert.deepEqual([ready?.status, ready?.reason], ["Unknown", "AgentSilent"]);
  assert.deepEqual(silenced(site("Peer"), "silent", 0), site("Peer"));
  assert.deepEqual(silenced(site("Self"), undefined, 0), site("Self"));
});
