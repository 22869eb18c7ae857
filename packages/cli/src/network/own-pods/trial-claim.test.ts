import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Kind, type KubeObject, silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { ApiError, type KubeClient, type ObjectKey } from "@fjord/kube";
import type { CommandContext } from "../../command-line/command-context.ts";
import { TestClaim } from "./trial-claim.ts";
import { TEST_LEASE, TEST_NAMESPACE, TEST_NAMESPACES, testLease, testNamespace } from "./trial-objects.ts";

/** An API of which a namespace goes at once, with what is in it. */
class SmallApi {
  readonly objects = new Map<string, KubeObject>();
  readonly deleted: string[] = [];
  refuse: string | undefined;

  add(object: KubeObject): void {
    this.objects.set(`${object.kind}/${object.metadata.name}`, object);
  }

  names(): string[] {
    return [...this.objects.keys()];
  }

  get client(): KubeClient {
    const nothing = (code: number) => new ApiError({ action: "ask", statusCode: code, text: "no" });
    const get = async ({ kind }: Kind<KubeObject>, { name }: ObjectKey) => {
      const found = this.objects.get(`${kind}/${name}`);
      if (found === undefined) throw nothing(404);
      return found;
    };
    return {
      get,
      create: async (_: unknown, object: KubeObject) => {
        if (this.refuse === object.kind) throw nothing(403);
        if (this.objects.has(`${object.kind}/${object.metadata.name}`))
          throw new ApiError({
            action: "create",
            statusCode: 409,
            status: { kind: "Status", reason: "AlreadyExists" },
          });
        this.add(object);
      },
      patch: async (kind: Kind<KubeObject>, key: ObjectKey, _: string, patch: object) =>
        this.add({ ...(await get(kind, key)), ...patch }),
      delete: async (_: unknown, { name }: ObjectKey) => {
        this.deleted.push(name);
        this.objects.delete(`Namespace/${name}`);
        if (name === TEST_NAMESPACE) this.objects.delete(`Lease/${TEST_LEASE}`);
      },
    } as unknown as KubeClient;
  }
}

function begin(api: SmallApi, signal = new AbortController().signal) {
  const clock = new ManualClock();
  const notes: string[] = [];
  const note = (text: string) => void notes.push(text);
  const context = { clock, signal, note, warn: note, logger: silentLogger } as unknown as CommandContext;
  return { clock, notes, claim: TestClaim.make(api.client, context) };
}

const ALL = [...TEST_NAMESPACES.map((name) => `Namespace/${name}`), `Lease/${TEST_LEASE}`];

describe("the namespaces of a test", () => {
  it("are there until it is over, and say meanwhile that it goes on", async () => {
    const api = new SmallApi();
    const { claim, clock } = begin(api);
    const made = await claim;
    assert.deepEqual(api.names(), ALL);
    const renewed = () => (api.objects.get(`Lease/${TEST_LEASE}`) as { spec?: { renewTime?: string } }).spec?.renewTime;
    const before = renewed();
    await clock.advance(2_000);
    assert.notEqual(renewed(), before);
    await made[Symbol.asyncDispose]();
    assert.deepEqual(api.names(), []);
  });

  it("of a test that was killed are removed first", async () => {
    const api = new SmallApi();
    for (const name of TEST_NAMESPACES) api.add(testNamespace(name));
    api.add(testLease("killed", 0));
    const { claim, clock, notes } = begin(api);
    await clock.advance(7_000);
    await claim;
    assert.deepEqual([api.deleted.toSorted(), api.names()], [[...TEST_NAMESPACES].toSorted(), ALL]);
    assert.match(notes.join(""), /what a test before this one has left is removed first/);
  });

  it("of a test that goes on are left alone", async () => {
    const api = new SmallApi();
    for (const name of TEST_NAMESPACES) api.add(testNamespace(name));
    api.add(testLease("other", 0));
    const { claim, clock } = begin(api);
    const refused = assert.rejects(claim, { code: "CLI_TEST_RUNS" });
    await clock.advance(3_000);
    api.add(testLease("other", 2_000));
    await clock.advance(4_000);
    await refused;
    assert.deepEqual(api.deleted, []);
  });

  it("of a test that has just begun, and has not said so yet, are left alone", async () => {
    const api = new SmallApi();
    for (const name of TEST_NAMESPACES) api.add(testNamespace(name));
    const { claim, clock } = begin(api);
    const refused = assert.rejects(claim, { code: "CLI_TEST_RUNS" });
    await clock.advance(1_000);
    api.add(testLease("other", 0));
    await clock.advance(6_000);
    await refused;
    assert.deepEqual(api.deleted, []);
  });

  it("that somebody else has made are never touched", async () => {
    const api = new SmallApi();
    api.add({ apiVersion: "v1", kind: "Namespace", metadata: { name: TEST_NAMESPACE } });
    await assert.rejects(begin(api).claim, { code: "CLI_TEST_NAMESPACE_TAKEN" });
    assert.deepEqual(api.deleted, []);
  });

  it("go where not all can be made", async () => {
    const api = new SmallApi();
    api.refuse = "Lease";
    await assert.rejects(begin(api).claim, { code: "KUBE_API" });
    assert.deepEqual(api.names(), []);
  });
});
