import assert from "node:assert/strict";
import { loadavg } from "node:os";
import { after, before, describe, it, type TestContext } from "node:test";
import { eventually } from "../acceptance/acceptance-bed.ts";
import { joinWireAgain, networkOf, removeGateway, setCables } from "../acceptance/linked-nodes.ts";
import { fjord, fjordResult } from "../agents/index.ts";
import { agentReady } from "../agents/site-agent.ts";
import type { RealNode } from "../nodes/node.ts";
import { networkSkip, realNodesSkip } from "../testing.ts";
import { FaultBed } from "./fault-bed.ts";
import { type FaultResult, record, resultOf } from "./fault-result.ts";
import { described, type Flows, type Measured } from "./flows.ts";
import { keepState, putBack } from "./kept-state.ts";
import { fewerAfterMs, ReadyEndpoints, returned } from "./ready-endpoints.ts";
import { AWAY, HOME } from "./sides.ts";

const skip =
  process.env.FJORD_TEST_FAULTS !== "1"
    ? "faults of links on two sites of real nodes take ten minutes: `npm run faults` runs them"
    : realNodesSkip() || networkSkip();
/** How long the link is cut, and the API away. */
const cutMs = 1000 * Number(process.env.FJORD_FAULTS_CUT_SECONDS ?? 30);
const apiAwayMs = 1000 * Number(process.env.FJORD_FAULTS_API_SECONDS ?? 30);
/** Where what gateways and agents say is kept. */
const logs = process.env.FJORD_FAULTS_LOGS;
/** What is promised where another path exists. */
const PROMISED_MS = 3_000;
/** By when endpoints behind a link that is cut have left. How long they are asked in vain is told by whoever asks. */
const LEFT_MS = 10_000;
/** What a fault may do to flows: connections survive it always. */
const NOTHING_LOST: Pledge = {
  words: "nothing lost",
  holds: ({ datagrams }) => datagrams.every(({ lost }) => lost === 0),
};
const NO_BLACK_HOLE: Pledge = {
  words: "3 s",
  holds: ({ datagrams }) => datagrams.every(({ blackHoleMs }) => blackHoleMs <= PROMISED_MS),
};
const TCP_SURVIVES: Pledge = { words: "TCP survives", holds: () => true };

interface Pledge {
  readonly words: string;
  holds(seen: Measured): boolean;
}
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
      beforeLink = await keepState(early.bed.site(AWAY));
    });
    flows = await bed.web.flows();
    await flows.flowing();
  });

  after(async () => {
    if (logs !== undefined) await bed?.writeLogs(logs);
    await bed?.[Symbol.asyncDispose]();
  });

  /** What is seen from the fault on until everything flows again. It is judged when what was broken is whole again. */
  const under = async (
    t: TestContext,
    pledge: Pledge,
    fault: () => Promise<void>,
    { patienceMs = 180_000, part, gone }: { patienceMs?: number; part?: string; gone?: RealNode } = {},
  ): Promise<{ seen: Measured; judge(): void }> => {
    // What an earlier fault has ended is begun anew.
    if ((await flows.measure(0)).problem !== undefined) await again();
    await flows.flowing(patienceMs);
    flows.reset();
    const since = Date.now();
    t.diagnostic(`begins at ${new Date(since).toISOString()}`);
    await fault();
    // What ends slowly is seen too: a gateway without its agent is silent after two seconds.
    await sleep(OBSERVED_MS);
    await flows.flowing(patienceMs);
    const seen = await flows.measure(since);
    t.diagnostic(described(seen));
    // Of a node that is gone, only Kubernetes takes pods out of Services, and it takes its time.
    const others = seen.endpoints.filter(({ node }) => node !== gone?.name).map((each) => each.lastFailureMs);
    const othersFailureMs = Math.round(Math.max(0, ...others));
    const isServed = gone === undefined || othersFailureMs <= PROMISED_MS;
    const passed = seen.problem === undefined && pledge.holds(seen) && isServed;
    say(t, pledge.words, passed, {
      ...resultOf(seen),
      ...(gone !== undefined && { othersFailureMs }),
      ...(part !== undefined && { part }),
    });
    const judge = () => {
      assert.equal(seen.problem, undefined, "the long connections");
      assert.ok(passed, `${pledge.words} was promised: ${described(seen)}`);
    };
    return { seen, judge };
  };
  const say = (t: TestContext, promised: string, passed: boolean, result: Partial<FaultResult>) =>
    record({
      fault: t.name,
      promised,
      passed,
      on: new Date().toISOString().slice(0, 10),
      load: Math.round(loadavg()[0] ?? 0),
      ...result,
    });
  /** Begins flows anew, from a node that does not carry the links. */
  const again = async () => {
    flows.end();
    flows = await bed.web.flows();
    await flows.flowing();
  };

  it("both agents are killed", async (t) => {
    const agents = [HOME, AWAY].map((name) => bed.bed.agent(name));
    const { judge } = await under(t, NOTHING_LOST, async () => {
      await Promise.all(agents.map(({ process }) => process.kill()));
      await sleep(5_000);
      for (const agent of agents) {
        await agent.process.start();
        await agentReady(agent);
      }
    });
    judge();
  });

  it("WireGuard of a gateway is killed", async (t) => {
    const node = await bed.gatewayOf(HOME);
    (await under(t, NO_BLACK_HOLE, () => killWireguard(node))).judge();
  });

  it("others delete the firewall of a gateway", async (t) => {
    const node = await bed.gatewayOf(AWAY);
    const { judge } = await under(t, NO_BLACK_HOLE, async () => {
      await node.run(["nft", "delete", "table", "inet", "fjord"], "delete the firewall");
    });
    judge();
  });

  it("others delete routes of a gateway", async (t) => {
    const node = await bed.gatewayOf(HOME);
    const { judge } = await under(t, NO_BLACK_HOLE, async () => {
      await node.run(["ip", "route", "flush", "table", "7443"], "delete routes");
      await node.run(["ip", "rule", "delete", "preference", "7443"], "delete a rule");
    });
    judge();
  });

  it("a key is rotated", async (t) => {
    const { judge } = await under(t, NOTHING_LOST, async () => {
      await fjord(bed.bed.site(HOME), "network", "rotate-key");
      await fjord(bed.bed.site(AWAY), "network", "rotate-key");
    });
    judge();
  });

  it("the agent is killed while a key is rotated", async (t) => {
    const agent = bed.bed.agent(HOME);
    const { judge } = await under(t, NO_BLACK_HOLE, async () => {
      const rotating = fjordResult(bed.bed.site(HOME), "network", "rotate-key");
      await sleep(300);
      await agent.process.kill();
      await sleep(3_000);
      await agent.process.start();
      await agentReady(agent);
      await rotating;
      await eventually("both use the same keys", () => sameKeys());
    });
    judge();
  });

  it("a gateway is killed in the middle of what it applies", async (t) => {
    const node = await bed.gatewayOf(HOME);
    const { judge } = await under(t, NO_BLACK_HOLE, async () => {
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
    await again();
    judge();
  });

  it("the gateway of the consumer is killed", async (t) => {
    const gateway = bed.gatewayProcess(await bed.gatewayOf(HOME));
    const { judge } = await under(t, NO_BLACK_HOLE, () => gateway.kill());
    await gateway.start();
    await again();
    judge();
  });

  /** Has the other node of the provider carry the links, where the pod's own does or does not. */
  const carriedOn = async (isPodsNode: boolean) => {
    const away = (await bed.web.members()).find(({ site }) => site === AWAY);
    const carrying = await bed.gatewayOf(AWAY);
    if ((carrying.name === away?.node) === isPodsNode) return;
    const gateway = bed.gatewayProcess(carrying);
    await gateway.stop();
    await eventually("the other node carries the links", async () => (await bed.gatewayOf(AWAY)) !== carrying);
    await gateway.start();
    await again();
  };

  it("the gateway of the provider is killed", async (t) => {
    await carriedOn(false);
    const gateway = bed.gatewayProcess(await bed.gatewayOf(AWAY));
    const { judge } = await under(t, NO_BLACK_HOLE, () => gateway.kill());
    await gateway.start();
    await again();
    judge();
  });

  it("the gateway on the pod's own node is killed, and started again after a second", async (t) => {
    await carriedOn(true);
    const gateway = bed.gatewayProcess(await bed.gatewayOf(AWAY));
    const { judge } = await under(t, NO_BLACK_HOLE, async () => {
      await gateway.kill();
      await sleep(1_000);
      await gateway.start();
    });
    await again();
    judge();
  });

  it("a node that carries links is cut off", async (t) => {
    const node = await bed.gatewayOf(HOME);
    const cut = () => setCables(bed.namespaces, node, bed.wireAddress(node), "down");
    const { judge } = await under(t, NO_BLACK_HOLE, cut, { gone: node });
    await setCables(bed.namespaces, node, bed.wireAddress(node), "up");
    await again();
    judge();
  });

  it("a gateway's endpoint has another address", async (t) => {
    const node = await bed.gatewayOf(AWAY);
    const [old, next] = [bed.wireAddress(node), "192.0.2.77"];
    // Else the second one goes with the first one.
    await node.run(["sysctl", "-qw", "net.ipv4.conf.wan0.promote_secondaries=1"], "keep an address");
    const { judge } = await under(t, NO_BLACK_HOLE, async () => {
      await node.run(["ip", "address", "add", `${next}/24`, "dev", "wan0"], "take another address");
      await node.run(["ip", "address", "delete", `${old}/24`, "dev", "wan0"], "lose an address");
    });
    await node.run(["ip", "address", "add", `${old}/24`, "dev", "wan0"], "take the old address");
    await node.run(["ip", "address", "delete", `${next}/24`, "dev", "wan0"], "lose an address");
    judge();
  });

  it("the clock of a gateway's node jumps", async (t) => {
    const node = await bed.gatewayOf(HOME);
    for (const ms of [3_600_000, -3_600_000]) {
      const part = `by ${ms / 3_600_000} h`;
      (await under(t, NO_BLACK_HOLE, () => bed.jumpClock(node, ms), { part })).judge();
    }
    // Who is there after the jumps still takes over.
    const carrying = await bed.gatewayOf(HOME);
    const gateway = bed.gatewayProcess(carrying);
    await again();
    const { judge } = await under(t, NO_BLACK_HOLE, () => gateway.kill(), { part: "and its gateway is killed" });
    await bed.jumpClock(node, 0);
    await gateway.start();
    await again();
    judge();
  });

  it(`the API of a site is away for ${apiAwayMs / 1000} s`, async (t) => {
    const { judge } = await under(t, NO_BLACK_HOLE, async () => {
      const parts = ["kube-apiserver", "etcd"].map((name) => bed.bed.site(AWAY).process(name));
      for (const part of parts) await part.pause();
      await sleep(apiAwayMs);
      for (const part of parts.toReversed()) await part.resume();
    });
    await eventually("the API is back", () => bed.gatewayOf(AWAY));
    await again();
    judge();
  });

  it("the wire between gateways is cut for 30 s, and agents still meet", async (t) => {
    const { judge } = await under(t, NO_BLACK_HOLE, async () => {
      for (const node of bed.nodesOf(AWAY)) await bed.setWire(node, "down");
      await sleep(30_000);
      for (const node of bed.nodesOf(AWAY)) await bed.setWire(node, "up");
    });
    judge();
  });

  it(`the link is cut for ${cutMs / 1000} s`, async (t) => {
    let whileCut: Measured | undefined;
    let cutAt = 0;
    let joinedAt = 0;
    let backAt = 0;
    const twin = await bed.bed.twin(HOME, "shop");
    const spaces = new Map([HOME, AWAY].map((name) => [name, name === HOME ? "shop" : twin]));
    await using ready = new AsyncDisposableStack();
    const endpoints = new Map(
      [...spaces].map(([name, space]) => [name, ready.use(new ReadyEndpoints(bed.bed.client(name), space, "web"))]),
    );
    /** Whether those of all three pods are seen on both sides. */
    const seesAll = async () => [...endpoints.values()].every(({ seen }) => seen.at(-1)?.ready.length === 3);
    await eventually("all endpoints are seen before the cut", seesAll);
    const { judge } = await under(
      t,
      TCP_SURVIVES,
      async () => {
        cutAt = Date.now();
        for (const node of bed.nodesOf(AWAY)) await bed.setLink(node, "down");
        await sleep(cutMs);
        whileCut = await flows.measure(cutAt);
        joinedAt = Date.now();
        for (const node of bed.nodesOf(AWAY)) await bed.setLink(node, "up");
        backAt = Date.now();
      },
      // TCP tries again after at most two minutes.
      { patienceMs: cutMs + 240_000 },
    );
    // Who was led there by a kernel that remembers it was not led there by the Service.
    const early = [...endpoints].flatMap(([name, { seen }]) => {
      const news = seen.filter(({ at }) => at >= cutAt).map((each) => `${each.ready} after ${each.at - cutAt} ms`);
      t.diagnostic(`endpoints that are ready at ${name}: ${news.join("; ")}`);
      return returned(seen, cutAt, joinedAt).map((each) => `at ${name} ${each}`);
    });
    const { asked } = whileCut as Measured;
    const lastFailureMs = Math.max(...asked.map((each) => each.lastFailureMs));
    t.diagnostic(`while it was cut: ${described(whileCut as Measured)}`);
    const words = "new connections fail for no longer than 3 s";
    say(t, words, lastFailureMs <= PROMISED_MS, { part: "the Service meanwhile", lastFailureMs });
    // Endpoints are back once they answer: nobody is to be sent to them before.
    const back = await flows.measure(backAt, backAt);
    const lateMs = Math.round(Math.max(...back.asked.map((each) => each.lastFailureMs)));
    t.diagnostic(`when it was back: ${described(back)}`);
    say(t, words, lateMs <= PROMISED_MS, { part: "the Service when it is back", lastFailureMs: lateMs });
    judge();
    for (const [name, { seen }] of endpoints) {
      const leftMs = fewerAfterMs(seen, cutAt);
      assert.ok(leftMs !== undefined && leftMs <= LEFT_MS, `endpoints left after ${leftMs} ms at ${name}`);
    }
    // Else nobody has seen whether they were back before.
    await eventually("all endpoints are seen again", seesAll);
    assert.deepEqual(early, [], "endpoints behind the link were back while it was cut");
    assert.ok(lateMs <= PROMISED_MS, `a connection failed that was begun ${lateMs} ms after the link was back`);
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
    const die = async () => {
      await setCables(bed.namespaces, node, bed.wireAddress(node), "down");
      for (const name of node.processes.toReversed()) await node.process(name).kill();
    };
    const { judge } = await under(t, NO_BLACK_HOLE, die, { gone: node });
    await node.restart();
    await bed.gatewayProcess(node).kill();
    await eventually("it has its namespaces again", async () => node.hasNamespaces);
    const join = () => joinWireAgain(bed.namespaces, node, bed.wireAddress(node));
    await eventually("it is on the wire again", join);
    await bed.gatewayProcess(node).start();
    await bed.bed.rolledOut(HOME, "shop", "deployment/web");
    // Its pods have other addresses than before, which the API hears of a moment later.
    await eventually("pods of it are where the API says", async () => {
      await again();
      return true;
    });
    judge();
  });

  const restored = async (t: TestContext, name: string, copy: string) => {
    const began = Date.now();
    const strangers = await bed.strangers.heard();
    await putBack(bed.bed.site(name), bed.nodesOf(name), copy);
    await bed.web.settled();
    await again();
    const agreedMs = Date.now() - began;
    t.diagnostic(`the sites agree again after ${(agreedMs / 1000).toFixed(0)} s`);
    const heard = await bed.strangers.heard();
    say(t, "they agree again, nobody else is asked", heard === strangers, { agreedMs });
    assert.equal(heard, strangers, "somebody else was asked");
    await bed.web.everyoneIsMeant();
  };

  it("the provider is put back to before there was a link", async (t) => await restored(t, AWAY, beforeLink));

  it("the consumer is put back to between two keys", async (t) => {
    await fjord(bed.bed.site(HOME), "network", "rotate-key");
    const between = await keepState(bed.bed.site(HOME));
    await fjord(bed.bed.site(HOME), "network", "rotate-key");
    await restored(t, HOME, between);
    assert.ok(await sameKeys());
  });

  it("the provider is put back to before a pod was offloaded", async (t) => {
    const before = await keepState(bed.bed.site(AWAY));
    const away = (await bed.web.members()).find(({ site }) => site === AWAY);
    await bed.bed.kubectl(HOME, "-n=shop", "delete", "pod", away?.name ?? "");
    await bed.web.settled();
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
