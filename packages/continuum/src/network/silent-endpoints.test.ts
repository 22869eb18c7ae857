import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AddressPlan, CONSUMER_LABEL, Link, MANAGED_LABEL, newObject } from "@fjord/api";
import { silentLogger, systemClock } from "@fjord/base";
import { clusterConfig, EndpointSlice, KubeClient, SharedCaches } from "@fjord/kube";
import { FaultServer } from "@fjord/testbed/fault-server";
import type { Home } from "../home.ts";
import { SILENCED_ANNOTATION } from "../silenced-endpoints.ts";
import { SilentEndpoints } from "./silent-endpoints.ts";

const [HOME, OTHER] = ["a".repeat(26), "b".repeat(26)];
const ready = { ready: true, serving: true };
const key = { namespace: "shop-x", name: "web-1" };
const slice: EndpointSlice = {
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata: {
    ...key,
    labels: {
      [CONSUMER_LABEL]: HOME,
      [MANAGED_LABEL]: "reflect",
      "endpointslice.kubernetes.io/managed-by": "fjord.dev",
      "kubernetes.io/service-name": "web",
    },
  },
  addressType: "IPv4",
  ports: [],
  endpoints: [
    { addresses: ["240.0.0.7"], conditions: ready },
    { addresses: ["241.0.0.7"], conditions: ready },
  ],
};

/** A provider's API with links to its consumer and to another provider, and an agent that can be killed. */
async function setUp() {
  const server = await FaultServer.start();
  const events: string[] = [];
  const messages: string[] = [];
  const publicKey = `${"Ab+/".repeat(10)}Abc=`;
  for (const [site, called] of [
    [HOME, "240.0.0.0/16"],
    [OTHER, "241.0.0.0/16"],
  ] as const) {
    const peer = [{ range: "10.42.0.0/16", called }];
    server.create(
      AddressPlan,
      newObject(AddressPlan, { metadata: { name: site }, spec: { site, own: [], peer } }) as never,
    );
    server.create(
      Link,
      newObject(Link, { metadata: { name: site }, spec: { site, publicKey, endpoints: [], groups: [] } }) as never,
    );
  }
  server.create(EndpointSlice, slice);
  const list = () => server.list(EndpointSlice)[0] as EndpointSlice;
  const agent = async () => {
    const stop = new AbortController();
    const reader = new KubeClient(clusterConfig({ server: server.url }));
    const client = new Proxy(reader, {
      get: (target, property) => {
        if (property === "patch")
          return async (_: unknown, __: unknown, ___: unknown, { metadata, endpoints }: EndpointSlice) => {
            const found = list();
            const { [SILENCED_ANNOTATION]: note, ...others } = {
              ...found.metadata.annotations,
              ...metadata.annotations,
            };
            const annotations = { ...others, ...(typeof note === "string" && { [SILENCED_ANNOTATION]: note }) };
            return server.update(EndpointSlice, {
              ...found,
              metadata: { ...found.metadata, annotations },
              endpoints,
            } as never);
          };
        const value = Reflect.get(target, property, target) as unknown;
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const means = { clock: systemClock, random: Math.random, logger: silentLogger };
    const caches = new SharedCaches({ ...means, client });
    const recorder = {
      event: (_: object, { reason, message }: { reason: string; message: string }) => {
        events.push(reason);
        messages.push(message);
      },
    };
    const controller = new SilentEndpoints({ ...means, client, caches, recorder } as unknown as Home);
    const running = [caches.run(stop.signal), caches.waitForSync().then(() => controller.run(stop.signal))];
    return {
      async [Symbol.asyncDispose]() {
        stop.abort();
        await Promise.all(running);
        await reader.close();
      },
    };
  };
  const say = (site: string, isSilent: boolean) => {
    const [status, reason] = isSilent ? ["False", "Silent"] : ["True", "HandshakeSeen"];
    const found = server.list(Link).find(({ metadata }) => metadata.name === site);
    const lastTransitionTime = "2030-01-01T00:00:00Z";
    const conditions = [{ type: "Ready", status, reason, message: "", lastTransitionTime }];
    server.update(Link, { ...found, status: { conditions } } as never);
  };
  const readiness = async (...wanted: boolean[]) => {
    for (const deadline = Date.now() + 30_000; ; await new Promise((resolve) => setTimeout(resolve, 10))) {
      const seen = list().endpoints?.map(({ conditions }) => conditions?.ready);
      if (String(seen) === String(wanted)) return;
      assert.ok(Date.now() < deadline, `${seen}, not ${wanted}`);
    }
  };
  return {
    server,
    events,
    messages,
    agent,
    say,
    readiness,
    list,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

describe("endpoints of a consumer's Services at a provider", () => {
  it("leave while the link to their site is silent, and come back", async () => {
    await using t = await setUp();
    await using _ = await t.agent();
    t.say(HOME, true);
    await t.readiness(false, true);
    t.say(OTHER, true);
    await t.readiness(false, false);
    t.say(HOME, false);
    await t.readiness(true, false);
    t.say(OTHER, false);
    await t.readiness(true, true);
    assert.deepEqual(t.list().endpoints, slice.endpoints);
    assert.deepEqual(t.list().metadata.annotations, {});
    assert.deepEqual([t.events[0], t.events.at(-1)], ["LinkSilent", "LinkAnswers"]);
    const because = "has fallen silent";
    assert.equal(t.messages[0], `1 endpoint is left out, as the link to its site ${because}`);
    assert.equal(t.messages[1], `2 endpoints are left out, as the link to their site ${because}`);
  });

  it("leave again where the consumer writes them anew meanwhile", async () => {
    await using t = await setUp();
    await using _ = await t.agent();
    t.say(HOME, true);
    await t.readiness(false, true);
    const more = [...(slice.endpoints ?? []), { addresses: ["240.0.0.8"], conditions: ready }];
    t.server.update(EndpointSlice, { ...t.list(), endpoints: more });
    await t.readiness(false, true, false);
  });

  it("leave again at once, the first times, where the consumer writes them anew", async () => {
    await using t = await setUp();
    await using _ = await t.agent();
    t.say(HOME, true);
    await t.readiness(false, true);
    const since = Date.now();
    for (let i = 0; i < 3; i++) {
      t.server.update(EndpointSlice, { ...t.list(), endpoints: slice.endpoints ?? [] });
      await t.readiness(false, true);
    }
    assert.ok(Date.now() - since < 1_000, "none has waited for a second");
  });

  it("are right after the agent was killed, whatever became of the link meanwhile", async () => {
    await using t = await setUp();
    {
      await using _ = await t.agent();
      t.say(HOME, true);
      await t.readiness(false, true);
    }
    t.say(HOME, false);
    t.say(OTHER, true);
    await using _ = await t.agent();
    await t.readiness(true, false);
  });
});
