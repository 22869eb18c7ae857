// Lanes that two real nodes of a site carry at once, under connections of real pods; a Service of both sites through kube-proxy.
import assert from "node:assert/strict";
import { after, before, describe, it, type TestContext } from "node:test";
import { Link, Site } from "@fjord/api";
import type { KubeClient } from "@fjord/kube";
import { FaultBed } from "../faults/fault-bed.ts";
import { described, type Flows } from "../faults/flows.ts";
import type { LongReport } from "../faults/orders.ts";
import { AWAY, HOME } from "../faults/sides.ts";
import type { StreamPod } from "../faults/stream-pod.ts";
import type { Member } from "../faults/web-pods.ts";
import type { RealNode } from "../nodes/node.ts";
import { networkSkip, realNodesSkip } from "../testing.ts";
import { eventually } from "./acceptance-bed.ts";
import { joinWireAgain, setCables } from "./linked-nodes.ts";

const LANES = [0, 1];
/** Of each end: by their ports, some take the one lane and some the other. */
const CONNECTIONS = 12;
/** What is promised where another path exists, and of endpoints behind a dead link. */
const PROMISED_MS = 3_000;

const skip =
  process.env.FJORD_TEST_LINKS !== "1"
    ? "two sites of two real nodes each take minutes: FJORD_TEST_LINKS=1 runs it"
    : realNodesSkip() || networkSkip();

describe("two sites whose links are carried by two real nodes each", { skip, timeout: 900_000 }, () => {
  let bed: FaultBed;
  let flows: Flows;
  let ends: { home: StreamPod; away: StreamPod };
  /** Those of the pods at both ends, which have to live. */
  let podsNodes: Readonly<Record<string, RealNode>>;
  const clients: Record<string, KubeClient> = {};

  before(async () => {
    bed = await FaultBed.start(undefined, LANES.length);
    for (const name of [HOME, AWAY]) clients[name] = bed.bed.client(name);
    await eventually("each node of both sites has a lane, and hears the peer there", areShared, 120_000);
    await begin();
  });

  after(async () => {
    const logs = process.env.FJORD_FAULTS_LOGS;
    if (logs !== undefined) await bed?.writeLogs(logs);
    for (const client of Object.values(clients)) await client.close();
    await bed?.[Symbol.asyncDispose]();
  });

  const at = (name: string) => clients[name] as KubeClient;
  const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

  /** The node that carries each lane of a site, by its own word. */
  const carriersOf = async (name: string) => {
    const { lanes = [] } = (await at(name).get(Site, { name })).status?.gateway ?? {};
    return LANES.map((lane) => lanes.find((each) => each.lane === lane)?.node);
  };
  /** Says what is there where it is not so. */
  const isShared = async (name: string) => {
    const nodes = await carriersOf(name);
    const [link] = (await at(name).list(Link)).items;
    const { lanes = [] } = link?.status ?? {};
    const isHeard = (lane: number) => {
      const found = lanes.find((each) => each.lane === lane);
      return found?.node === nodes[lane] && found?.handshakeAt !== undefined && found.silent !== true;
    };
    const isSo = new Set(nodes).size === LANES.length && !nodes.includes(undefined) && LANES.every(isHeard);
    assert.ok(isSo, `${name} has its lanes on ${nodes}, and its Link says ${JSON.stringify(lanes)}`);
    return true;
  };
  const areShared = async () => (await isShared(HOME)) && (await isShared(AWAY));

  /** Long connections of both pods beside what flows, which take both lanes. */
  const begin = async () => {
    const carrying = await bed.gatewayOf(HOME);
    flows = await bed.web.flows();
    // The pods between which it flows: the one at home is not on the node of the first lane.
    const members = (await bed.web.members()).filter(({ node }) => node !== carrying.name);
    const [home, away] = [HOME, AWAY].map((name) => members.find(({ site }) => site === name)) as [Member, Member];
    podsNodes = { [HOME]: bed.node(home.node), [AWAY]: bed.node(away.node) };
    ends = { home: await bed.web.stream(home), away: await bed.web.stream(away) };
    for (let i = 0; i < CONNECTIONS; i++) {
      ends.home.order({ do: "long", id: `held-${i}`, host: await bed.web.called(HOME, away) });
      ends.away.order({ do: "long", id: `held-${i}`, host: await bed.web.called(AWAY, home) });
    }
    await flows.flowing();
  };
  const end = () => {
    flows.end();
    for (const pod of Object.values(ends))
      for (let i = 0; i < CONNECTIONS; i++) pod.order({ do: "end", id: `held-${i}`, host: "" });
  };
  const held = async () => {
    const reports: LongReport[] = [];
    for (const pod of Object.values(ends))
      for (let i = 0; i < CONNECTIONS; i++) reports.push(await pod.report<LongReport>(`held-${i}`));
    return reports;
  };

  /** What connections say after a fault, once all of them are answered again. */
  const survived = async (t: TestContext) => {
    await flows.flowing();
    const reports = await eventually("all connections are heard again", async () => {
      const found = await held();
      return found.every(({ silentMs, problem }) => problem !== undefined || silentMs < 1_000) && found;
    });
    const longest = Math.max(...reports.map(({ longestSilenceMs }) => longestSilenceMs));
    t.diagnostic(`${reports.length} connections, silent for ${(longest / 1000).toFixed(1)} s at most`);
    assert.deepEqual(
      reports.flatMap(({ problem }) => problem ?? []),
      [],
    );
  };
  const reset = () => {
    flows.reset();
    for (const pod of Object.values(ends))
      for (let i = 0; i < CONNECTIONS; i++) pod.order({ do: "reset", id: `held-${i}`, host: "" });
  };

  const bytesOf = async (node: RealNode, lane: number) => {
    const text = await node.run(["ip", "-json", "-statistics", "link", "show", "dev", `fjord${lane}`], "count bytes");
    const [{ stats64 }] = JSON.parse(text) as [{ stats64: Record<"rx" | "tx", { bytes: number }> }];
    return { in: stats64.rx.bytes, out: stats64.tx.bytes };
  };

  it("carry connections on both nodes of both, in both directions", async (t) => {
    const places = await Promise.all(
      [HOME, AWAY].map(async (name) => (await carriersOf(name)).map((node) => bed.node(node ?? ""))),
    );
    const count = () => Promise.all(places.flatMap((nodes) => nodes.map((node, lane) => bytesOf(node, lane))));
    const first = await count();
    await sleep(5_000);
    const second = await count();
    const carried = second.map((now, i) => ({ in: now.in - (first[i]?.in ?? 0), out: now.out - (first[i]?.out ?? 0) }));
    t.diagnostic(`bytes by node: ${places.flat().map(({ name }, i) => `${name} ${JSON.stringify(carried[i])}`)}`);
    // Questions whether a lane lives are some hundred bytes a second.
    for (const each of carried) assert.ok(each.in > 10_000 && each.out > 10_000, JSON.stringify(carried));
    assert.equal(new Set(places.flat()).size, 4);
  });

  /** A fault of the node that carries a lane; the other one has to have all of them in time. */
  const lost = async (t: TestContext, node: RealNode, fault: () => Promise<unknown>) => {
    const { name } = bed.siteOf(node);
    const left = bed.otherNode(node).name;
    reset();
    const since = Date.now();
    await fault();
    const began = performance.now();
    const hasAll = async () => (await carriersOf(name)).every((each) => each === left);
    await eventually(`${left} has all lanes`, hasAll, 30_000);
    const took = performance.now() - began;
    await survived(t);
    const seen = await flows.measure(since);
    t.diagnostic(`the other node had all lanes after ${(took / 1000).toFixed(1)} s; ${described(seen)}`);
    assert.ok(took <= PROMISED_MS, `${left} had all lanes after ${took} ms`);
    for (const { blackHoleMs } of seen.datagrams) assert.ok(blackHoleMs <= PROMISED_MS, described(seen));
  };
  const nodeWithoutPod = (name: string) => bed.otherNode(podsNodes[name] as RealNode);

  for (const name of [HOME, AWAY])
    it(`have all lanes on one node of ${name} within three seconds where the gateway of the other is killed`, async (t) => {
      const node = nodeWithoutPod(name);
      const gateway = bed.gatewayProcess(node);
      await lost(t, node, () => gateway.kill());
      await gateway.start();
      await eventually("each node has a lane again", areShared, 60_000);
      await survived(t);
    });

  it("meet by the agents' connection within three seconds where the wire between all of them is cut", async (t) => {
    await flows.flowing();
    reset();
    const since = Date.now();
    for (const node of bed.nodesOf(AWAY)) await bed.setWire(node, "down");
    await sleep(12_000);
    const seen = await flows.measure(since);
    for (const node of bed.nodesOf(AWAY)) await bed.setWire(node, "up");
    t.diagnostic(described(seen));
    for (const { blackHoleMs } of seen.datagrams) assert.ok(blackHoleMs <= PROMISED_MS, described(seen));
    await eventually("each node has a lane again", areShared, 60_000);
    await survived(t);
  });

  it("leave no connection to a Service unanswered that is begun later than three seconds after the link is cut", async (t) => {
    await flows.flowing();
    reset();
    const since = Date.now();
    for (const node of bed.nodesOf(AWAY)) await bed.setLink(node, "down");
    await sleep(12_000);
    const seen = await flows.measure(since);
    for (const node of bed.nodesOf(AWAY)) await bed.setLink(node, "up");
    t.diagnostic(described(seen));
    for (const { lastFailureMs, failed, sent } of seen.asked) {
      assert.ok(sent > 50 && failed > 0, `${failed} of ${sent} failed: the Service had nothing behind the link`);
      assert.ok(lastFailureMs <= PROMISED_MS, `one failed that was begun ${lastFailureMs} ms after the cut`);
    }
    await eventually("each node has a lane again", areShared, 60_000);
    await survived(t);
    await eventually("the Service has all endpoints again", async () => {
      flows.reset();
      await sleep(2_000);
      return (await flows.measure(0)).asked.every(({ by }) => Object.keys(by).length === 3);
    });
  });

  it("have all lanes on one node within three seconds where the other dies, and share them when it is back", async (t) => {
    const node = nodeWithoutPod(HOME);
    await lost(t, node, async () => {
      await setCables(bed.namespaces, node, bed.wireAddress(node), "down");
      for (const name of node.processes.toReversed()) await node.process(name).kill();
    });
    await bed.gatewayProcess(node).kill();
    await node.restart();
    await eventually("it has its namespaces again", async () => node.hasNamespaces);
    const join = () => joinWireAgain(bed.namespaces, node, bed.wireAddress(node));
    await eventually("it is on the wire again", join);
    await bed.gatewayProcess(node).start();
    await eventually("each node has a lane again", areShared, 120_000);
    await survived(t);
    end();
  });
});
