import assert from "node:assert/strict";
import { after, before, describe, it, type TestContext } from "node:test";
import { eventually } from "../acceptance/acceptance-bed.ts";
import { joinWire, networkOf, removeGateway, setCables } from "../acceptance/linked-nodes.ts";
import { fjord, fjordResult } from "../agents/index.ts";
import { agentReady } from "../agents/site-agent.ts";
import type { RealNode } from "../nodes/node.ts";
import { networkSkip, realNodesSkip } from "../testing.ts";
import { AWAY, FaultBed, HOME } from "./fault-bed.ts";
import { described, type Flows, type Measured } from "./flows.ts";

const skip =
  process.env.FJORD_TEST_FAULTS !== "1"
    ? "faults of links on two sites of real nodes take ten minutes: `npm run faults` runs them"
    : realNodesSkip() || networkSkip();
/** How long the link is cut, and the API away. */
const cutMs = 1000 * Number(process.env.FJORD_FAULTS_CUT_SECONDS ?? 30);
const apiAwayMs = 1000 * Number(process.env.FJORD_FAULTS_API_SECONDS ?? 30);
/** What is promised where another path exists. */
const PROMISED_MS = 3_000;
const OBSERVED_MS = 8_000;

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe("faults under a link that carries a long connection, datagrams and a Service", {
  skip,
  timeout: 3_600_000,
}, () => {
  let bed: FaultBed;
  let flows: Flows;
  let beforeLink: string;

  before(async () => {
    bed = await FaultBed.start(async (early) => {
      beforeLink = await early.snapshot(AWAY);
    });
    flows = await bed.flows();
    await flows.flowing();
  });

  after(async () => await bed?.[Symbol.asyncDispose]());

  /** What is seen from the fault on until everything flows again. */
  const under = async (t: TestContext, fault: () => Promise<void>, patienceMs = 180_000): Promise<Measured> => {
    // What an earlier fault has ended is begun anew.
    if ((await flows.measure(0)).problem !== undefined) await again();
    await flows.flowing(patienceMs);
    flows.reset();
    const since = Date.now();
    await fault();
    // What ends slowly is seen too: a gateway without its agent is silent after three seconds.
    await sleep(OBSERVED_MS);
    await flows.flowing(patienceMs);
    const seen = await flows.measure(since);
    t.diagnostic(described(seen));
    assert.equal(seen.problem, undefined, "the long connections");
    return seen;
  };
  const withoutBlackHole = (seen: Measured) => {
    for (const { blackHoleMs } of seen.datagrams)
      assert.ok(blackHoleMs <= PROMISED_MS, `nothing was answered for ${(blackHoleMs / 1000).toFixed(1)} s`);
  };
  /** Begins flows anew, from a node that does not carry the links. */
  const again = async () => {
    flows.end();
    flows = await bed.flows();
    await flows.flowing();
  };

  it("both agents are killed", async (t) => {
    const agents = [HOME, AWAY].map((name) => bed.bed.agent(name));
    const seen = await under(t, async () => {
      await Promise.all(agents.map(({ process }) => process.kill()));
      await sleep(5_000);
      for (const agent of agents) {
        await agent.process.start();
        await agentReady(agent);
      }
    });
    withoutBlackHole(seen);
    for (const { lost } of seen.datagrams) assert.equal(lost, 0);
  });

  it("WireGuard of a gateway is killed", async (t) => {
    const node = await bed.gatewayOf(HOME);
    withoutBlackHole(await under(t, () => killWireguard(node)));
  });

  it("others delete the firewall of a gateway", async (t) => {
    const node = await bed.gatewayOf(AWAY);
    const seen = await under(t, async () => {
      await node.run(["nft", "delete", "table", "inet", "fjord"], "delete the firewall");
    });
    withoutBlackHole(seen);
  });

  it("others delete routes of a gateway", async (t) => {
    const node = await bed.gatewayOf(HOME);
    const seen = await under(t, async () => {
      await node.run(["ip", "route", "flush", "table", "7443"], "delete routes");
      await node.run(["ip", "rule", "delete", "preference", "7443"], "delete a rule");
    });
    withoutBlackHole(seen);
  });

  it("a key is rotated", async (t) => {
    const seen = await under(t, async () => {
      await fjord(bed.bed.site(HOME), "network", "rotate-key");
      await fjord(bed.bed.site(AWAY), "network", "rotate-key");
    });
    for (const { lost } of seen.datagrams) assert.equal(lost, 0, "datagrams lost");
  });

  it("the agent is killed while a key is rotated", async (t) => {
    const agent = bed.bed.agent(HOME);
    const seen = await under(t, async () => {
      const rotating = fjordResult(bed.bed.site(HOME), "network", "rotate-key");
      await sleep(300);
      await agent.process.kill();
      await sleep(3_000);
      await agent.process.start();
      await agentReady(agent);
      await rotating;
      await eventually("both use the same keys", () => sameKeys());
    });
    t.diagnostic(`both agree on keys; ${seen.datagrams.map(({ lost }) => lost).join(" and ")} datagrams were lost`);
  });

  it("a gateway is killed in the middle of what it applies", async (t) => {
    const node = await bed.gatewayOf(HOME);
    const seen = await under(t, async () => {
      for (let i = 0; i < 4; i++) {
        const gateway = bed.gatewayProcess(node);
        const rotating = fjordResult(bed.bed.site(HOME), "network", "rotate-key");
        await sleep(700 + 100 * i);
        await gateway.kill();
        await gateway.start();
        await rotating;
      }
      await eventually("both use the same keys", () => sameKeys());
    });
    t.diagnostic(`four kills while keys were replaced; black hole ${seen.datagrams[0]?.blackHoleMs} ms`);
    await again();
  });

  it("the gateway of the consumer is killed", async (t) => {
    const gateway = bed.gatewayProcess(await bed.gatewayOf(HOME));
    const seen = await under(t, () => gateway.kill());
    await gateway.start();
    await again();
    withoutBlackHole(seen);
  });

  it("the gateway of the provider is killed", async (t) => {
    const gateway = bed.gatewayProcess(await bed.gatewayOf(AWAY));
    const seen = await under(t, () => gateway.kill());
    await gateway.start();
    await again();
    withoutBlackHole(seen);
  });

  it("a node that carries links is cut off", async (t) => {
    const node = await bed.gatewayOf(HOME);
    const seen = await under(t, () => setCables(bed.namespaces, node, bed.wireAddress(node), "down"));
    await setCables(bed.namespaces, node, bed.wireAddress(node), "up");
    await again();
    withoutBlackHole(seen);
  });

  it("a gateway's endpoint has another address", async (t) => {
    const node = await bed.gatewayOf(AWAY);
    const [old, next] = [bed.wireAddress(node), "192.0.2.77"];
    const seen = await under(t, async () => {
      await node.run(["ip", "address", "add", `${next}/24`, "dev", "wan0"], "take another address");
      await node.run(["ip", "address", "delete", `${old}/24`, "dev", "wan0"], "lose an address");
    });
    await node.run(["ip", "address", "add", `${old}/24`, "dev", "wan0"], "take the old address");
    await node.run(["ip", "address", "delete", `${next}/24`, "dev", "wan0"], "lose an address");
    withoutBlackHole(seen);
  });

  it("the clock of a gateway's node jumps", async (t) => {
    const node = await bed.gatewayOf(HOME);
    for (const ms of [3_600_000, -3_600_000]) {
      const seen = await under(t, () => bed.jumpClock(node, ms));
      t.diagnostic(`by ${ms / 3_600_000} h`);
      withoutBlackHole(seen);
    }
    // Who is there after the jumps still takes over.
    const carrying = await bed.gatewayOf(HOME);
    const gateway = bed.gatewayProcess(carrying);
    await again();
    const seen = await under(t, () => gateway.kill());
    await bed.jumpClock(node, 0);
    await gateway.start();
    await again();
    withoutBlackHole(seen);
  });

  it(`the API of a site is away for ${apiAwayMs / 1000} s`, async (t) => {
    const seen = await under(t, async () => {
      const parts = ["kube-apiserver", "etcd"].map((name) => bed.bed.site(AWAY).process(name));
      for (const part of parts) await part.pause();
      await sleep(apiAwayMs);
      for (const part of parts.toReversed()) await part.resume();
    });
    for (const { blackHoleMs } of seen.datagrams) assert.ok(blackHoleMs <= PROMISED_MS);
    await eventually("the API is back", () => bed.gatewayOf(AWAY));
    await again();
  });

  it(`the link is cut for ${cutMs / 1000} s`, async (t) => {
    let whileCut: Measured | undefined;
    const seen = await under(
      t,
      async () => {
        const since = Date.now();
        for (const node of bed.nodesOf(AWAY)) await bed.setWire(node, "down");
        await sleep(Math.min(cutMs, 15_000));
        whileCut = await flows.measure(since);
        await sleep(cutMs - Math.min(cutMs, 15_000));
        for (const node of bed.nodesOf(AWAY)) await bed.setWire(node, "up");
      },
      // TCP tries again after at most two minutes.
      cutMs + 240_000,
    );
    t.diagnostic(`while it was cut: ${described(whileCut as Measured)}`);
    assert.equal(seen.problem, undefined);
    for (const { lastFailureMs } of (whileCut as Measured).asked)
      assert.ok(lastFailureMs <= PROMISED_MS, `a connection failed that was begun after ${lastFailureMs} ms`);
    await eventually("the Service has all endpoints again", async () => {
      flows.reset();
      await sleep(2_000);
      return (await flows.measure(0)).asked.every(({ by }) => Object.keys(by).length === 3);
    });
  });

  it("a node that carries links dies", async (t) => {
    await again();
    const node = await bed.gatewayOf(HOME);
    const seen = await under(t, async () => {
      await setCables(bed.namespaces, node, bed.wireAddress(node), "down");
      for (const name of node.processes.toReversed()) await node.process(name).kill();
    });
    await node.restart();
    await bed.gatewayProcess(node).kill();
    await eventually("it has its namespaces again", async () => node.hasNamespaces);
    await bed.namespaces.ip("wan", "link", "delete", `port${bed.wireAddress(node).split(".").at(-1)}`).catch(() => {});
    await joinWire(bed.namespaces, node, bed.wireAddress(node));
    await bed.gatewayProcess(node).start();
    await bed.bed.rolledOut(HOME, "shop", "deployment/web");
    await again();
    withoutBlackHole(seen);
  });

  const restored = async (t: TestContext, name: string, copy: string) => {
    const began = Date.now();
    const strangers = await bed.strangersHear();
    await bed.restore(name, copy);
    await bed.settled();
    await again();
    t.diagnostic(`the sites agree again after ${((Date.now() - began) / 1000).toFixed(0)} s`);
    assert.deepEqual(await bed.strangersHear(), strangers, "somebody else was asked");
    await bed.everyoneIsMeant();
  };

  it("the provider is put back to before there was a link", async (t) => await restored(t, AWAY, beforeLink));

  it("the consumer is put back to between two keys", async (t) => {
    await fjord(bed.bed.site(HOME), "network", "rotate-key");
    const between = await bed.snapshot(HOME);
    await fjord(bed.bed.site(HOME), "network", "rotate-key");
    await restored(t, HOME, between);
    assert.ok(await sameKeys());
  });

  it("the provider is put back to before a pod was offloaded", async (t) => {
    const before = await bed.snapshot(AWAY);
    const away = (await bed.members()).find(({ site }) => site === AWAY);
    await bed.bed.kubectl(HOME, "-n=shop", "delete", "pod", away?.name ?? "");
    await bed.settled();
    await restored(t, AWAY, before);
  });

  it("links are removed: nothing is left on any node", async () => {
    for (const node of bed.allNodes()) {
      await bed.gatewayProcess(node).stop();
      await removeGateway(node);
      assert.deepEqual(await networkOf(node), bed.empty.get(node.name));
    }
  });

  async function killWireguard(node: RealNode): Promise<void> {
    await node.run(
      [
        "sh",
        "-c",
        'for pid in $(ls /proc | grep -E "^[0-9]+$"); do if [ "$(readlink /proc/$pid/ns/net)" = "$(readlink /proc/self/ns/net)" ] && grep -q wireguard-go /proc/$pid/comm; then kill -9 $pid; fi; done',
      ],
      "kill WireGuard",
    );
  }

  /** Whether each site's Link has the key that the other's gateway uses. */
  async function sameKeys(): Promise<boolean> {
    const keys = await Promise.all([HOME, AWAY].map((name) => bed.keysOf(name)));
    const [one, other] = keys as [Awaited<ReturnType<FaultBed["keysOf"]>>, Awaited<ReturnType<FaultBed["keysOf"]>>];
    return one.own === one.wanted && other.own === other.wanted && one.own === other.peer && other.own === one.peer;
  }
});
