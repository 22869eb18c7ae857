import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { isDeepStrictEqual, promisify } from "node:util";
import { CAPTURE_NAME, gatewayRights, installObjects } from "@fjord/agent";
import { AddressPlan, CONSUMER_LABEL, Export, Import, Link, newObject, Peering, Site as SiteKind } from "@fjord/api";
import { WireguardSocket } from "@fjord/continuum/gateway";
import {
  ClusterRole,
  ClusterRoleBinding,
  Deployment,
  EndpointSlice,
  Event,
  getCondition,
  type KubeClient,
  Namespace,
  Pod,
  Service,
  ServiceAccount,
} from "@fjord/kube";
import { writeAccountKubeconfig } from "../agents/account-kubeconfig.ts";
import { Continuum, fjord, fjordResult } from "../agents/index.ts";
import { EchoPod, NetworkNamespaces } from "../namespaces/index.ts";
import { addHost, addNode, hidePods, makeWire, SiteNetwork } from "../namespaces/site-network.ts";
import { freePort, networkSkip, startTestBed, testSubstrates } from "../testing.ts";
import { eventually } from "./acceptance-bed.ts";
import { answered, interfacePrefixOf, runGateway } from "./namespace-gateway.ts";
import {
  find,
  gatewayNode,
  guest,
  idOf,
  link,
  makeNode,
  podsOf,
  readyAddresses,
  serviceAddresses,
  serviceOf,
} from "./network-objects.ts";
import { RunningCapture } from "./running-capture.ts";
import { deployment, namespace } from "./workloads.ts";

const HOME = "site-1";
const AWAY = "site-2";
/** What ranges of a peer are called begins with this, as both sites have the same. */
const CALLED = "240.";
/** Of a host that answers. */
const HOST_PORTS = [
  { name: "tcp", port: 7000 },
  { name: "udp", port: 7000, protocol: "UDP" as const },
];

describe("two sites whose pods have the same range", { timeout: 300_000 }, () => {
  let continuum: Continuum;
  let home: KubeClient;
  let away: KubeClient;
  let homeId: string;
  let awayId: string;
  /** How addresses of home begin at the other site. */
  let homeThere: string[] = [];

  before(async () => {
    const kubernetes = testSubstrates(["microkube"]);
    continuum = new Continuum(await startTestBed({ sites: 2, overlap: true, simulatedNodes: 1, kubernetes }));
    await continuum.startAgents();
    await continuum.share(AWAY);
    await continuum.peer(HOME, AWAY, "--cpu=8", "--memory=8Gi", "--pods=20");
    home = continuum.client(HOME);
    away = continuum.client(AWAY);
    homeId = await idOf(home, HOME);
    awayId = await idOf(away, AWAY);
    await home.create(Namespace, namespace("shop") as Namespace);
    await fjord(continuum.site(HOME), "offload", "shop", "--pods=Both");
    await home.create(Deployment, deployment("web", { namespace: "shop", replicas: 2, spread: true }) as Deployment);
    await home.create(Service, serviceOf("web", "shop"));
    await eventually("one pod runs here and one there", async () => {
      const pods = await podsOf(home, "shop");
      return (
        pods.length === 2 &&
        pods.every(({ status }) =>
          status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True"),
        )
      );
    });
  });

  after(async () => {
    await home?.close();
    await away?.close();
    await continuum?.[Symbol.asyncDispose]();
  });

  it("have no link that nobody asked for", async () => {
    assert.deepEqual((await home.list(AddressPlan)).items, []);
    assert.deepEqual((await away.list(Link)).items, []);
  });

  it("show no address of the pod that is away, which would be one of home's own", async () => {
    const pods = await podsOf(home, "shop");
    const addressOf = (isAway: boolean) => pods.find(({ spec }) => (spec?.nodeName === AWAY) === isAway)?.status?.podIP;
    assert.ok(addressOf(false));
    assert.equal(addressOf(true), undefined);
  });

  it("agree on what they call each other, once a Peering asks for it", async () => {
    for (const [client, name] of [
      [home, HOME],
      [away, AWAY],
    ] as const) {
      const { podCidr } = continuum.site(name).layout;
      const endpoints = [`192.0.2.${name === HOME ? 1 : 2}:51820`];
      await client.patch(SiteKind, { name }, "merge", { spec: { network: { podRanges: [podCidr], endpoints } } });
    }
    await home.patch(Peering, { name: AWAY }, "merge", { spec: { link: true } });
    const { podCidr } = continuum.site(HOME).layout;
    for (const [client, peer] of [
      [home, awayId],
      [away, homeId],
    ] as const) {
      const plan = await eventually("the plan is agreed", async () => {
        const found = await find(client, AddressPlan, peer);
        return getCondition(found?.status?.conditions, "Ready")?.status === "True" && found;
      });
      const [own, theirs] = [plan.spec.own[0], plan.spec.peer[0]];
      assert.equal(own?.range, podCidr);
      assert.equal(theirs?.range, podCidr);
      assert.ok(own?.called?.startsWith(CALLED) && theirs?.called?.startsWith(CALLED), JSON.stringify(plan.spec));
      assert.notEqual(own?.called, theirs?.called, "guests know both words");
      if (client === away) homeThere = (theirs?.called ?? "").split(".").slice(0, 2);
    }
    await eventually("the pod that is away has an address at home", async () =>
      (await podsOf(home, "shop")).every(({ status }) => status?.podIP !== undefined),
    );
  });

  it("have one address for a Service at both", async () => {
    const [original] = (await home.list(Service, { namespace: "shop" })).items;
    const { namespace = "" } = (await guest(away)).metadata;
    const key = { name: original?.metadata.name ?? "", namespace };
    const twin = await away.get(Service, key);
    assert.equal(twin.spec?.clusterIP, original?.spec?.clusterIP);
  });

  it("have a link each, with the other's key and endpoint, and the namespace's pods in it", async () => {
    const [one, other] = await Promise.all([link(home, awayId), link(away, homeId)]);
    assert.notEqual(one.spec.publicKey, other.spec.publicKey);
    assert.deepEqual([one.spec.endpoints, other.spec.endpoints], [["192.0.2.2:51820"], ["192.0.2.1:51820"]]);
    const pods = await podsOf(home, "shop");
    const local = pods.find(({ spec }) => spec?.nodeName !== AWAY)?.status?.podIP;
    const remote = pods.find(({ spec }) => spec?.nodeName === AWAY)?.status?.podIP;
    assert.deepEqual(one.spec.groups, [{ name: "shop", local: [local], remote: [remote] }]);
    const { items: guests } = await away.list(Pod, { labelSelector: CONSUMER_LABEL });
    assert.equal(guests.length, 1);
    const [group] = other.spec.groups;
    assert.deepEqual(group?.local, [guests[0]?.status?.podIP]);
    assert.equal(group?.name, guests[0]?.metadata.namespace);
  });

  it("show the pod that is away by the name that its address has here", async () => {
    const real = (await guest(away)).status?.podIP ?? "";
    const pods = await podsOf(home, "shop");
    const shown = pods.find(({ spec }) => spec?.nodeName === AWAY)?.status?.podIP ?? "";
    assert.ok(shown.startsWith(CALLED), shown);
    assert.equal(shown.split(".").slice(2).join("."), real.split(".").slice(2).join("."));
    await eventually("the Service here has both pods", async () => {
      const addresses = await serviceAddresses(home, "shop");
      return addresses.length === 2 && addresses.includes(shown);
    });
  });

  it("show the pod that is at home to the Service there by the name that its address has there", async () => {
    const pods = await podsOf(home, "shop");
    const native = pods.find(({ spec }) => spec?.nodeName !== AWAY)?.status?.podIP ?? "";
    const { metadata, status } = await guest(away);
    const expected = [...homeThere, ...native.split(".").slice(2)].join(".");
    await eventually("the Service there has both pods", async () => {
      const addresses = await serviceAddresses(away, metadata.namespace ?? "");
      return addresses.includes(expected) && addresses.includes(status?.podIP ?? "");
    });
  });

  describe("with gateways in network namespaces", { skip: networkSkip() }, () => {
    const namespaces = new NetworkNamespaces();
    const stop = new AbortController();
    const running: Promise<void>[] = [];
    const switchedOff = new AbortController();
    const following = new AbortController();
    const inner = { node: "a-gw", place: { node: "a-gw", endpoints: ["192.0.2.1:51820"] } };
    let native: string;
    let shown: string;
    let here: EchoPod;
    let there: EchoPod;
    let stranger: EchoPod;
    let other: SiteNetwork;
    /** The network namespace of the pod at home. */
    let hereName: string;
    let capturePort: number;

    before(async () => {
      const pods = await podsOf(home, "shop");
      native = pods.find(({ spec }) => spec?.nodeName !== AWAY)?.status?.podIP ?? "";
      shown = pods.find(({ spec }) => spec?.nodeName === AWAY)?.status?.podIP ?? "";
      const podRange = continuum.site(HOME).layout.podCidr;
      await makeWire(namespaces);
      const one = await SiteNetwork.make(namespaces, { name: "a", address: "192.0.2.1", podRange });
      other = await SiteNetwork.make(namespaces, { name: "b", address: "192.0.2.2", podRange });
      hereName = await one.addPod(native);
      here = await EchoPod.start(namespaces, hereName);
      there = await EchoPod.start(namespaces, await other.addPod((await guest(away)).status?.podIP ?? ""));
      // Of a namespace that is not offloaded.
      stranger = await EchoPod.start(namespaces, await one.addPod(podRange.replace(/\.0\.0\/16$/, ".200.9")));
      // At home a node without pods carries the links, and the one with pods has to reach it.
      await addNode(namespaces, { name: "front", address: "192.0.2.3", podRange, via: "192.0.2.1" });
      await makeNode(home, "front", "192.0.2.3");
      await makeNode(home, inner.node, "192.0.2.1");
      const front = { node: "front", place: { node: "front", endpoints: ["192.0.2.3:51820"] } };
      capturePort = await freePort();
      running.push(runGateway(home, { ...front, mayCarry: true, capturePort, signal: switchedOff.signal }, namespaces));
      running.push(runGateway(home, { ...inner, mayCarry: false, signal: following.signal }, namespaces));
      running.push(runGateway(away, { node: other.gateway, signal: stop.signal }, namespaces));
      for (const each of running) each.catch(() => {});
    });

    after(async () => {
      for (const each of [switchedOff, following, stop]) each.abort();
      try {
        await Promise.all(running);
      } finally {
        // Pods there would else have this process go on for ever.
        await namespaces[Symbol.asyncDispose]();
      }
    });

    const thereAs = () => [...homeThere, ...native.split(".").slice(2)].join(".");

    it("a pod at home reaches the one that is away, which sees it by its name there", async () => {
      assert.equal(await answered(here, shown), thereAs());
    });

    it("the pod that is away reaches the one at home", async () => {
      assert.equal(await answered(there, thereAs()), shown);
    });

    it("all endpoints that the Service has answer, at home and there", async () => {
      for (const address of await serviceAddresses(home, "shop"))
        assert.equal(await answered(here, address), address === shown ? thereAs() : native);
      const { metadata, status } = await guest(away);
      const real = status?.podIP ?? "";
      for (const address of await serviceAddresses(away, metadata.namespace ?? ""))
        assert.equal(await answered(there, address), address === real ? real : shown);
    });

    it("a pod of another namespace reaches nothing", async () => {
      assert.equal(await stranger.ask(shown, { proto: "udp", message: "forbidden", patienceMs: 1_000 }), "nothing");
      assert.deepEqual(
        there.heard.filter(({ message }) => message === "forbidden"),
        [],
      );
    });

    it("the Links say that they are up", async () => {
      for (const [client, peer] of [
        [home, awayId],
        [away, homeId],
      ] as const) {
        const found = await eventually("a handshake is seen", async () => {
          const each = await link(client, peer);
          return getCondition(each.status?.conditions, "Ready")?.status === "True" && each;
        });
        assert.match(found.status?.endpoint ?? "", /^192\.0\.2\.[123]:51820$/);
      }
      assert.match(await fjord(continuum.site(HOME), "network", "status"), /site-2 .*NamesKnown +HandshakeSeen/);
    });

    it("the Links say how long it takes to the other gateway, and how large packets may be", async () => {
      for (const [client, peer] of [
        [home, awayId],
        [away, homeId],
      ] as const) {
        const status = await eventually("the peer's gateway answers probes", async () => {
          const found = (await link(client, peer)).status;
          return found?.mtu !== undefined && found;
        });
        assert.equal(status.mtu, 1380);
        assert.ok((status.latencyMicroseconds ?? 0) > 0 && status.lossPercent !== undefined, JSON.stringify(status));
      }
      assert.match(
        await fjord(continuum.site(HOME), "network", "status", "-o=wide"),
        /HandshakeSeen .*ms +\d+% .* 1380 /,
      );
    });

    /** Nothing of the link passes, though the agents talk by their own ports. */
    const cut = async (isCut: boolean) => {
      const chain = (hook: string) =>
        `chain ${hook} { type filter hook ${hook} priority -500; udp dport 51820-51827 drop; }`;
      const table = isCut ? `table inet cut {\n${chain("prerouting")}\n${chain("output")}\n}` : "";
      await namespaces.run(other.gateway, "nft", `table inet cut\ndelete table inet cut\n${table}\n`);
    };
    const readyAt = async (client: KubeClient) =>
      await readyAddresses(client, client === home ? "shop" : ((await guest(away)).metadata.namespace ?? ""));
    const bothReady = () =>
      eventually("both Services have both pods", async () => {
        const all = await Promise.all([home, away].map(readyAt));
        return all.every((each) => each.length === 2);
      });
    /** How long it took from the cut until no Service leads over the link. */
    const silenced = async (): Promise<number> => {
      await bothReady();
      const wanted = [[native], [(await guest(away)).status?.podIP]];
      const from = Date.now();
      await cut(true);
      await eventually("endpoints behind the link have left both Services", async () =>
        isDeepStrictEqual(await Promise.all([home, away].map(readyAt)), wanted),
      );
      return Date.now() - from;
    };

    it("endpoints behind the link leave Services within three seconds when it falls silent, at both sites", async (t) => {
      // A machine that stands still for seconds is late with everything: then once more.
      const took = [await silenced()];
      while (Math.min(...took) > 3_000 && took.length < 3) {
        await cut(false);
        took.push(await silenced());
      }
      t.diagnostic(`${took.join(" ms, ")} ms`);
      assert.ok(Math.min(...took) <= 3_000, `${took.join(" ms, ")} ms`);
      for (const [client, peer] of [
        [home, awayId],
        [away, homeId],
      ] as const)
        assert.equal(getCondition((await link(client, peer)).status?.conditions, "Ready")?.reason, "Silent");
      const pods = await podsOf(home, "shop");
      const guest = pods.find(({ spec }) => spec?.nodeName === AWAY);
      const conditions = new Map(
        guest?.status?.conditions?.map(({ type, status, reason }) => [type, reason ?? status]),
      );
      assert.deepEqual([conditions.get("Ready"), conditions.get("ContainersReady")], ["LinkSilent", "True"]);
      await eventually("Events tell of the pod at home, and of the Service there", async () => {
        const events = await Promise.all([home, away].map((client) => client.list(Event)));
        const told = events.map(({ items }) => items.find(({ reason }) => reason === "LinkSilent"));
        return told[0]?.regarding?.name === guest?.metadata.name && told[1]?.regarding?.kind === "Service";
      });
      assert.match(await fjord(continuum.site(HOME), "network", "status"), /site-2 .*NamesKnown +Silent/);
      const explained = await fjordResult(continuum.site(HOME), "network", "explain", "-n=shop", native, shown);
      assert.equal(explained.exitCode, 1);
      assert.match(explained.stdout, /down \(Silent: /);
    });

    it("they come back when it answers, also where both agents have been dead meanwhile", async () => {
      for (const name of [HOME, AWAY]) await continuum.agent(name).process.kill();
      await cut(false);
      for (const name of [HOME, AWAY]) await continuum.agent(name).process.start();
      await bothReady();
      assert.equal(await answered(here, shown), thereAs());
    });

    it("the link has as many lanes as both owners want, and goes on while that changes", async () => {
      const want = async (client: KubeClient, name: string, lanes: number) => {
        await client.patch(SiteKind, { name }, "merge", { spec: { network: { lanes } } });
      };
      const both = [
        [home, awayId],
        [away, homeId],
      ] as const;
      await want(home, HOME, 3);
      await want(away, AWAY, 2);
      for (const [client, peer] of both) {
        const lanes = await eventually("both lanes answer", async () => {
          const found = (await link(client, peer)).status?.lanes ?? [];
          return found.length === 2 && found.every(({ silent, handshakeAt }) => !silent && handshakeAt) && found;
        });
        assert.deepEqual(
          lanes.map(({ lane, endpoint }) => [lane, endpoint?.split(":")[1]]),
          [
            [0, "51820"],
            [1, "51821"],
          ],
        );
        assert.equal(lanes[0]?.node, client === home ? "front" : undefined);
      }
      assert.match(await fjord(continuum.site(HOME), "network", "status", "-o=wide"), / 2\/2 /);
      for (let i = 0; i < 4; i++) assert.equal(await answered(here, shown), thereAs());
      await want(home, HOME, 1);
      for (const [client, peer] of both)
        await eventually("it has one", async () => (await link(client, peer)).status?.lanes === undefined);
      assert.equal(await answered(here, shown), thereAs());
    });

    it("`fjord network test` passes what the gateways have seen, and says what nobody could test", async () => {
      const peer = `--peer-kubeconfig=${continuum.site(AWAY).kubeconfig}`;
      const { stdout } = await fjordResult(continuum.site(HOME), "network", "test", "-o=json", peer);
      const { items } = JSON.parse(stdout);
      assert.deepEqual(
        items.map(({ from, to }: Record<string, string>) => [from, to]),
        [
          [HOME, AWAY],
          [AWAY, HOME],
        ],
      );
      for (const { outcomes } of items) {
        for (const column of ["link", "mtu"]) assert.equal(outcomes[column].result, "Passed", column);
        assert.match(outcomes.latency.detail, /^\d+\.\dms/);
        // Of the rest nothing is said here: simulated pods run no commands, and answer all alike.
        assert.equal(outcomes.policy.result, "NotTested");
        assert.match(outcomes.policy.detail, /--outsider|--deploy/);
      }
    });

    it("another key is used by both while packets go on, of which none gets lost", async () => {
      // A machine that stands still for seconds has the gateway let go of its links, whatever key they have: then once more.
      for (let attempt = 1; !(await rotated()); attempt++) assert.ok(attempt < 3, "packets got lost each time");
    });

    /** Whether all packets have come that were sent while the key was replaced. */
    const rotated = async (): Promise<boolean> => {
      const before = (await link(home, awayId)).status?.ownKey;
      for (const pod of [here, there]) pod.heard.length = 0;
      const streams = [
        { to: there, stream: await here.stream(shown, 100) },
        { to: here, stream: await there.stream(thereAs(), 100) },
      ];
      assert.match(await fjord(continuum.site(HOME), "network", "rotate-key"), /is now \S{43}=/);
      const key = (await link(home, awayId)).status?.ownKey;
      assert.notEqual(key, before);
      await eventually("the peer knows it", async () => (await link(away, homeId)).spec.publicKey === key);
      await eventually("the two have agreed by the new key", async () => {
        const { peers } = await new WireguardSocket(`${interfacePrefixOf("b-gw")}0`).get();
        return (peers.get(Buffer.from(key ?? "", "base64").toString("hex"))?.handshakeSeconds ?? 0) > 0;
      });
      let areAllThere = true;
      for (const { to, stream } of streams) {
        const heard = to.heard.length;
        await eventually("packets go on", async () => to.heard.length > heard + 5);
        const count = await stream.end();
        const expected = Array.from({ length: count }, (_, number) => `packet ${number}`);
        const isWhole = () => {
          const numbers = new Set(to.heard.map(({ message }) => message));
          return expected.every((each) => numbers.has(each));
        };
        for (const end = Date.now() + 15_000; !isWhole() && Date.now() < end; )
          await new Promise((resolve) => setTimeout(resolve, 50));
        areAllThere &&= isWhole();
      }
      return areAllThere;
    };

    it("`fjord network explain` says of packets what becomes of them", async () => {
      const explain = async (...args: string[]) => {
        const command = ["network", "explain", "-n=shop", "-o=json", ...args];
        const { exitCode, stdout, stderr } = await fjordResult(continuum.site(HOME), ...command);
        const answer = JSON.parse(stdout);
        assert.equal(exitCode, answer.verdict === "Dropped" ? 1 : 0, stderr);
        return answer;
      };
      const peer = `--peer-kubeconfig=${continuum.site(AWAY).kubeconfig}`;
      const real = (await guest(away)).status?.podIP ?? "";
      const pods = await podsOf(home, "shop");
      const nameOf = (address: string) => pods.find(({ status }) => status?.podIP === address)?.metadata.name ?? "";
      const out = await explain(nameOf(native), `${real}@${AWAY}`, peer);
      assert.equal(out.verdict, "Delivered", JSON.stringify(out));
      const [path] = out.paths;
      const packets = path.hops.map(({ source, destination }: Record<string, string>) => `${source} ${destination}`);
      assert.deepEqual(
        [...new Set(packets)],
        [`${native} ${shown}`, `${thereAs()} ${shown}`, `${thereAs()} ${real}`],
        "as those see it who answered",
      );
      const toService = await explain(`pod/shop/${nameOf(native)}`, "service/web", peer);
      assert.deepEqual(
        toService.paths.map(({ verdict }: { verdict: string }) => verdict),
        ["Delivered", "Delivered"],
      );
      const strangers = await explain(
        continuum.site(HOME).layout.podCidr.replace(/\.0\.0\/16$/, ".200.9"),
        shown,
        peer,
      );
      assert.equal(strangers.verdict, "Dropped");
      assert.match(strangers.paths[0].hops.at(-1).what, /is in no group/);
    });

    it("pods of a second range reach the other site too, by addresses that nothing there has", async () => {
      const [range, address] = ["10.77.0.0/16", "10.77.0.9"];
      const key = { name: "second", namespace: "shop" };
      const wantRanges = async (...more: string[]) => {
        const podRanges = [continuum.site(HOME).layout.podCidr, ...more];
        await home.patch(SiteKind, { name: HOME }, "merge", { spec: { network: { podRanges } } });
      };
      await wantRanges(range);
      // The pod at home has that address as well: nobody else runs this one.
      await namespaces.ip(hereName, "address", "add", `${address}/32`, "dev", "eth0");
      await namespaces.ip("a-gw", "route", "add", address, "via", native);
      await namespaces.ip("front", "route", "add", range, "via", "192.0.2.1");
      await hidePods(namespaces, "a-gw", `ip saddr ${range} ip daddr != ${range}`);
      const spec = { nodeName: "front", containers: [{ name: "main", image: "none" }] };
      await home.create(Pod, { apiVersion: "v1", kind: "Pod", metadata: key, spec } as Pod);
      const status = { phase: "Running", podIP: address, podIPs: [{ ip: address }] };
      await home.patch(Pod, key, "merge", { status }, { subresource: "status" });
      assert.equal(await here.ask(shown, { proto: "udp", from: address }), address);
      assert.equal(await there.ask(address), shown);
      assert.equal(await answered(here, shown), thereAs(), "the first range has the name that it had");
      await home.delete(Pod, key, { gracePeriodSeconds: 0 });
      await wantRanges();
      await eventually("the other site forgets it", async () =>
        (await find(away, AddressPlan, homeId))?.spec.peer.every((each) => each.range !== range),
      );
      assert.equal(await answered(here, shown), thereAs());
    });

    it("what one exports, pods of a namespace that imports it reach, and nobody else, until it is taken back", async () => {
      await addHost(namespaces, { name: "host", node: "b-gw", address: "198.18.0.2" });
      const spec = { sites: [HOME], host: { address: "198.18.0.2", ports: HOST_PORTS } };
      await away.create(Export, newObject(Export, { metadata: { name: "ledger" }, spec }));
      const metadata = { name: "ledger", namespace: "shop" };
      await home.create(Import, newObject(Import, { metadata, spec: { site: AWAY, export: "ledger" } }));
      const imported = (reason: string) =>
        eventually(`the Import is ${reason}`, async () => {
          const found = await home.get(Import, metadata);
          return getCondition(found.status?.conditions, "Ready")?.reason === reason && found;
        });
      const [address = ""] = (await imported("Imported")).status?.addresses ?? [];
      assert.match(address, /^24\d\./);
      const service = await home.get(Service, metadata);
      assert.deepEqual(
        service.spec?.ports?.map(({ name, protocol, port }) => [name, protocol, port]),
        [
          ["tcp", "TCP", 7000],
          ["udp", "UDP", 7000],
        ],
      );
      assert.deepEqual(await serviceAddresses(home, "shop", "ledger"), [address]);
      const guests = getCondition((await home.get(Import, metadata)).status?.conditions, "ReachedByGuests");
      assert.deepEqual([guests?.status, guests?.reason], ["False", "HomeOnly"]);
      assert.match(guests?.message ?? "", new RegExp(`^pods at ${AWAY} do not reach it`));
      // The host sees the gateway that it is a neighbour of.
      assert.equal(await answered(here, address), "198.18.0.1");
      assert.equal(await stranger.ask(address, { proto: "udp", message: "forbidden", patienceMs: 1_000 }), "nothing");
      const peer = `--peer-kubeconfig=${continuum.site(AWAY).kubeconfig}`;
      const explained = await fjordResult(
        continuum.site(HOME),
        "network",
        "explain",
        native,
        "service/ledger",
        "-n=shop",
        peer,
      );
      assert.match(explained.stdout, /it arrives/);
      assert.match(explained.stdout, /stands for ledger: leads TCP 7000 to 198\.18\.0\.2:7000.*\[Export ledger\]/);
      await away.delete(Export, { name: "ledger" });
      await imported("NotExported");
      await eventually("the links have nothing of it", async () =>
        [await link(home, awayId), await link(away, homeId)].every(({ spec: { groups } }) =>
          groups.every(({ name }) => !name.startsWith("fjord.dev/")),
        ),
      );
      await home.delete(Import, metadata);
    });

    it("what home exports to itself, guests of a namespace that imports it reach by its Service", async () => {
      await addHost(namespaces, { name: "safe", node: "front", address: "198.18.1.2" });
      const spec = { sites: [HOME], host: { address: "198.18.1.2", ports: HOST_PORTS } };
      await home.create(Export, newObject(Export, { metadata: { name: "safe" }, spec }));
      const metadata = { name: "safe", namespace: "shop" };
      await home.create(Import, newObject(Import, { metadata, spec: { site: HOME, export: "safe" } }));
      const twin = (await guest(away)).metadata.namespace ?? "";
      const shownAt = async (client: KubeClient, namespace: string) => [
        ...new Set(await serviceAddresses(client, namespace, "safe")),
      ];
      const [address = ""] = await eventually("the twin of its Service leads home", async () => {
        const shown = await shownAt(away, twin);
        return shown.length > 0 && shown;
      });
      assert.match(address, /^24\d\./);
      assert.deepEqual(await shownAt(home, "shop"), ["198.18.1.2"], "pods at home need no link");
      assert.equal((await away.get(Service, { name: "safe", namespace: twin })).spec?.ports?.length, 2);
      assert.equal(await answered(there, address), "198.18.1.1");
      const guestsOf = async () => {
        const { status } = await home.get(Import, metadata);
        return getCondition(status?.conditions, "ReachedByGuests")?.reason;
      };
      await eventually("the Import says so", async () => (await guestsOf()) === "Reached");
      await home.delete(Import, metadata);
      await eventually("nobody answers any more", async () => {
        const answer = await there.ask(address, { proto: "udp", message: "forbidden", patienceMs: 1_000 });
        return answer === "nothing";
      });
      await home.delete(Export, { name: "safe" });
    });

    it("Services that one exports by their labels are reached by who imports them, and others are not", async () => {
      const address = continuum.site(AWAY).layout.podCidr.replace(/\.0\.0\/16$/, ".201.9");
      await EchoPod.start(namespaces, await other.addPod(address));
      for (const name of ["data", "closed"]) {
        const labels = { exported: name === "data" ? "yes" : "no" };
        await away.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } });
        await away.create(Service, {
          ...serviceOf("store", name),
          spec: { ports: [{ port: 7000 }] },
        } as Service);
        await away.create(EndpointSlice, {
          apiVersion: "discovery.k8s.io/v1",
          kind: "EndpointSlice",
          metadata: { name: "store-1", namespace: name, labels: { "kubernetes.io/service-name": "store" } },
          addressType: "IPv4",
          endpoints: [{ addresses: [address], conditions: { ready: true } }],
          ports: [{ name: "", port: 7000, protocol: "TCP" }],
        } as EndpointSlice);
      }
      const services = { namespaceSelector: { matchLabels: { exported: "yes" } } };
      const drafts = { metadata: { name: "stores" }, spec: { sites: [HOME], services } };
      await away.create(Export, newObject(Export, drafts));
      for (const name of ["data", "closed"]) {
        const spec = { site: AWAY, export: `${name}/store` };
        await home.create(Import, newObject(Import, { metadata: { name, namespace: "shop" }, spec }));
      }
      const imported = (name: string, reason: string) =>
        eventually(`${name} is ${reason}`, async () => {
          const found = await home.get(Import, { name, namespace: "shop" });
          return getCondition(found.status?.conditions, "Ready")?.reason === reason && found;
        });
      const [here4 = ""] = (await imported("data", "Imported")).status?.addresses ?? [];
      await imported("closed", "NotExported");
      assert.equal(await answered(here, here4), thereAs(), "it sees who asks, by the name that its site has for it");
      assert.equal(await stranger.ask(here4, { proto: "udp", message: "forbidden", patienceMs: 1_000 }), "nothing");
      // The label is taken away, and with it everything.
      await away.patch(Namespace, { name: "data" }, "merge", { metadata: { labels: { exported: "no" } } });
      await imported("data", "NotExported");
      await away.delete(Export, { name: "stores" });
      for (const name of ["data", "closed"]) await home.delete(Import, { name, namespace: "shop" });
    });

    it("`fjord network capture` shows packets of the link to who may see them, and nothing is left of it", async () => {
      const at = [AWAY, `--gateway=http://127.0.0.1:${capturePort}`];
      const admin = continuum.site(HOME).kubeconfig;
      const areSeen = async () => (await namespaces.run("front", "nft", "list", "tables")).includes("fjord-capture");
      const ask = () => here.ask(shown, { proto: "udp", message: "seen" });
      await using lines = await RunningCapture.start(admin, ...at, "--protocol=udp", `--host=${native}`);
      assert.equal(await ask(), thereAs());
      const [out, back] = [`out IP ${native}\\.\\d+ > ${shown}`, `in  IP ${shown}\\.7000 > ${native}`];
      for (const each of [`${out}\\.7000: UDP, length 4\n`, `${back}\\.\\d+: UDP`])
        await eventually(`it prints ${each}`, async () => new RegExp(each).test(lines.stdout));
      assert.equal(await lines.end("SIGINT"), 0, lines.stderr);
      assert.match(lines.stderr, /[1-9]\d* packets, \d+ bytes, of the link with site-2 in /);
      await eventually("its rules are gone", async () => !(await areSeen()));

      const killed = await RunningCapture.start(admin, ...at);
      assert.equal(await areSeen(), true);
      await killed.end("SIGKILL");
      await eventually("the rules of one that was killed are gone", async () => !(await areSeen()));

      const folder = await mkdtemp(join(tmpdir(), "fjord-capture-"));
      const pod = (await podsOf(home, "shop")).find(({ status }) => status?.podIP === native)?.metadata.name ?? "";
      await using written = await RunningCapture.start(
        admin,
        ...at,
        "-n=shop",
        `--pod=${pod}`,
        "--packets=2",
        `--file=${join(folder, "link.pcap")}`,
      );
      await ask();
      assert.equal(await written.end(), 0, written.stderr);
      assert.match(written.stderr, /^2 packets, .* it has ended by --packets 2$/m);
      const read = await promisify(execFile)("tcpdump", ["-n", "-r", join(folder, "link.pcap"), "udp"]);
      assert.match(read.stdout, new RegExp(`${native}\\.\\d+ > ${shown}.*\n.*${shown}\\.7000 > ${native}`));

      const client = { name: "watcher", namespace: "fjord-system" };
      await home.create(ServiceAccount, { apiVersion: "v1", kind: "ServiceAccount", metadata: client });
      const account = join(folder, "watcher.kubeconfig");
      await writeAccountKubeconfig(home, continuum.site(HOME), client.name, account);
      const refused = async () => (await fjordResult({ kubeconfig: account }, "network", "capture", ...at)).stderr;
      assert.match(await refused(), /forbidden/);
      await installObjects(home, gatewayRights("fjord-system"), { signal: stop.signal, told: () => {} });
      const mayLook = [
        { apiGroups: ["fjord.dev"], resources: ["sites", "links"], verbs: ["get", "list", "watch"] },
        { apiGroups: ["certificates.k8s.io"], resources: ["certificatesigningrequests"], verbs: ["create"] },
      ];
      const apiVersion = "rbac.authorization.k8s.io/v1";
      await home.create(ClusterRole, { apiVersion, kind: "ClusterRole", metadata: { name: "looker" }, rules: mayLook });
      const bind = async (name: string) => {
        const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name };
        const subjects = [{ kind: "ServiceAccount", ...client }];
        const metadata = { name: `watcher-${name}` };
        await home.create(ClusterRoleBinding, { apiVersion, kind: "ClusterRoleBinding", metadata, roleRef, subjects });
      };
      await bind("looker");
      assert.match(await refused(), /serviceaccount:fjord-system:watcher may not: .*\[CLI_CAPTURE_REFUSED\]/s);
      assert.equal(await areSeen(), false);
      await bind(CAPTURE_NAME);
      await using allowed = await RunningCapture.start(account, ...at, "--packets=1");
      await ask();
      assert.equal(await allowed.end(), 0, allowed.stderr);
      await rm(folder, { recursive: true });
    });

    it("another node carries the links when the one that does is switched off", async () => {
      assert.equal(await gatewayNode(home, HOME), "front");
      following.abort();
      await running[1];
      const carrying = runGateway(home, { ...inner, mayCarry: true, signal: stop.signal }, namespaces);
      carrying.catch(() => {});
      running.push(carrying);
      switchedOff.abort();
      await namespaces.remove("front");
      assert.equal(await answered(here, shown), thereAs());
      assert.equal(await answered(there, thereAs()), shown);
      await eventually("it says so", async () => (await gatewayNode(home, HOME)) === "a-gw");
      await eventually("peers are told where", async () => (await link(away, homeId)).spec.endpoints.length === 1);
    });
  });

  it("keep names and links over the death of both agents", async () => {
    const before = await Promise.all([find(home, AddressPlan, awayId), find(away, AddressPlan, homeId)]);
    const keys = [(await link(home, awayId)).spec.publicKey, (await link(away, homeId)).spec.publicKey];
    for (const name of [HOME, AWAY]) {
      await continuum.agent(name).process.kill();
      await continuum.agent(name).process.start();
    }
    await home.patch(Deployment, { name: "web", namespace: "shop" }, "merge", { spec: { replicas: 4 } });
    await eventually("new pods are in the links", async () => {
      const [one, other] = await Promise.all([link(home, awayId), link(away, homeId)]);
      return one.spec.groups[0]?.local.length === 2 && other.spec.groups[0]?.local.length === 2;
    });
    const now = await Promise.all([find(home, AddressPlan, awayId), find(away, AddressPlan, homeId)]);
    assert.deepEqual(
      now.map((plan) => [plan?.metadata.uid, plan?.spec]),
      before.map((plan) => [plan?.metadata.uid, plan?.spec]),
    );
    assert.deepEqual([(await link(home, awayId)).spec.publicKey, (await link(away, homeId)).spec.publicKey], keys);
  });

  it("follow a range that is added, and keep the names that there were", async () => {
    const before = (await find(away, AddressPlan, homeId))?.spec.peer[0];
    const { podCidr } = continuum.site(HOME).layout;
    const podRanges = [podCidr, "10.77.0.0/16"];
    await home.patch(SiteKind, { name: HOME }, "merge", { spec: { network: { podRanges } } });
    await eventually("both know it", async () => {
      const [one, other] = await Promise.all([find(home, AddressPlan, awayId), find(away, AddressPlan, homeId)]);
      return [one?.spec.own, other?.spec.peer].every((namings) =>
        namings?.some(({ range, called }) => range === "10.77.0.0/16" && called === "10.77.0.0/16"),
      );
    });
    const after = (await find(away, AddressPlan, homeId))?.spec.peer.find(({ range }) => range === podCidr);
    assert.deepEqual(after, before);
  });

  it("have nothing of it left when it is no longer asked for, and pods are shown as they were", async () => {
    await home.patch(Peering, { name: AWAY }, "merge", { spec: { link: false } });
    for (const client of [home, away]) {
      await eventually("plans and links are gone", async () => {
        const [plans, links] = await Promise.all([client.list(AddressPlan), client.list(Link)]);
        return plans.items.length === 0 && links.items.length === 0;
      });
    }
    await eventually("the pod that is away has no address here", async () =>
      (await podsOf(home, "shop")).every(
        ({ spec, status }) => (status?.podIP === undefined) === (spec?.nodeName === AWAY),
      ),
    );
  });
});
