import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, it, type TestContext } from "node:test";
import { fjord, fjordResult, startFjord } from "../agents/index.ts";
import { NetworkNamespaces } from "../namespaces/index.ts";
import { makeWire } from "../namespaces/site-network.ts";
import type { RealNode } from "../nodes/node.ts";
import type { RealNodes } from "../nodes/real-nodes.ts";
import { networkSkip, realNodesSkip, testNodes } from "../testing.ts";
import { AcceptanceBed, eventually } from "./acceptance-bed.ts";
import { joinWire, linkProcess, networkOf, removeGateway, setCables, startGateway } from "./linked-nodes.ts";
import { deployment, namespace, pod } from "./workloads.ts";

const HOME = "site-1";
const AWAY = "site-2";
const PORT = 8080;
/** Says who answers, and by what address it was asked. */
const SERVER = [
  "sh",
  "-c",
  `mkdir -p /www/cgi-bin
printf '#!/bin/sh\\necho; echo "$(hostname) $REMOTE_ADDR"\\n' > /www/cgi-bin/who
chmod +x /www/cgi-bin/who
exec httpd -f -p ${PORT} -h /www`,
];

const skip =
  process.env.FJORD_TEST_LINKS !== "1"
    ? "two sites of real nodes joined by a link take a minute: FJORD_TEST_LINKS=1 runs it"
    : realNodesSkip() || networkSkip();

/** A pod by the name that it has everywhere, the site that it runs at, and its address there of each family. */
interface Member {
  readonly name: string;
  readonly site: string;
  readonly node: string;
  readonly addresses: readonly string[];
}

describe("two sites of real nodes whose pods and Services have the same ranges", { skip, timeout: 900_000 }, () => {
  const namespaces = new NetworkNamespaces();
  let provider: RealNodes;
  let bed: AcceptanceBed;
  let members: Member[];
  let families: number;
  const empty = new Map<string, string[]>();
  /** How addresses of the other site begin, by site. */
  const names = new Map<string, string[]>();

  before(async () => {
    provider = testNodes();
    bed = await AcceptanceBed.start({ sites: 2, overlap: true, nodes: { count: 2, provider } });
    await makeWire(namespaces);
    for (const [index, node] of allNodes().entries()) await joinWire(namespaces, node, `192.0.2.${index + 1}`);
    for (const name of [HOME, AWAY]) {
      const endpoints = nodesOf(name).map((node) => `${wireAddress(node)}:51820`);
      const podRanges = bed.site(name).layout.podCidrs;
      await bed.kubectl(
        name,
        "patch",
        "site",
        name,
        "--type=merge",
        `--patch=${JSON.stringify({ spec: { network: { podRanges, endpoints } } })}`,
      );
    }
    await bed.peer(HOME, AWAY, "--cpu=2", "--memory=2Gi", "--pods=30", "--link");
    await bed.apply(HOME, namespace("shop"), namespace("other"));
    await fjord(bed.site(HOME), "offload", "shop", "--pods=Both");
    await bed.apply(
      HOME,
      deployment("web", { namespace: "shop", replicas: 3, spread: true, command: SERVER }),
      service("web"),
      service("each", { clusterIP: "None" }),
      pod("stranger", { namespace: "other", command: SERVER }),
    );
    await bed.rolledOut(HOME, "shop", "deployment/web");
    await bed.kubectl(HOME, "-n=other", "wait", "--for=condition=Ready", "pod/stranger", "--timeout=150s");
    members = await membersOf();
    families = members[0]?.addresses.length ?? 0;
    for (const name of [HOME, AWAY]) {
      const path = "--output=jsonpath={.items[0].spec.peer[*].called}";
      names.set(name, (await bed.kubectl(name, "get", "addressplans", path)).split(" ").map(beginningOf));
    }
    // All that is not Fjord's is there by now: a bridge of pods has its address, and the kernel's route to it, from a node's first pod on.
    for (const node of allNodes()) empty.set(node.name, await networkOf(node));
    for (const node of allNodes()) {
      const flags = [`--endpoint=${wireAddress(node)}:51820`];
      // Both ways to the gateway, though all nodes are neighbours.
      if (siteOf(node).name === AWAY) flags.push("--tunnel");
      await startGateway(siteOf(node), node, "gateway", ...flags);
    }
  });

  after(async () => {
    await bed?.[Symbol.asyncDispose]();
    await namespaces[Symbol.asyncDispose]();
  });

  const nodesOf = (name: string) => provider.nodes(bed.site(name)) as readonly [RealNode, RealNode];
  const allNodes = () => [...nodesOf(HOME), ...nodesOf(AWAY)];
  const siteOf = (node: RealNode) => bed.site(node.name.startsWith(HOME) ? HOME : AWAY);
  const wireAddress = (node: RealNode) => `192.0.2.${allNodes().indexOf(node) + 1}`;
  const inPod = (name: string, ...command: string[]) => bed.kubectl(HOME, "-n=shop", "exec", name, "--", ...command);
  /** Who answers, and as whom it sees the pod. */
  const ask = async (from: string, host: string): Promise<{ name: string; seen: string }> => {
    const [name = "", seen = ""] = (await inPod(from, "timeout", "5", "wget", "-q", "-O", "-", urlOf(host)))
      .trim()
      .split(" ");
    return { name, seen: seen.replace(/^\[(::ffff:)?|\]$/g, "") };
  };
  const asks = (from: string, host: string) => eventually(`${host} answers ${from}`, () => ask(from, host));

  async function membersOf(): Promise<Member[]> {
    const found: Member[] = [];
    const { items } = await bed.get<{ items: PodJson[] }>(HOME, "pods", "-n=shop", "--selector=app=web");
    const twin = await bed.twin(HOME, "shop");
    const guests = await bed.get<{ items: PodJson[] }>(AWAY, "pods", `-n=${twin}`, "--selector=app=web");
    for (const { metadata, spec, status } of items) {
      const guest = guests.items.find((each) => each.metadata.name === metadata.name);
      found.push({
        name: metadata.name,
        site: guest === undefined ? HOME : AWAY,
        node: (guest ?? { spec }).spec.nodeName,
        addresses: (guest ?? { status }).status.podIPs.map(({ ip }) => ip),
      });
    }
    return found;
  }

  /** What a site calls a pod's addresses. */
  const called = (at: string, { site, addresses }: Member) => {
    const nameOf = (range: string) =>
      (names.get(at) ?? []).find((name) => name.includes(":") === range.includes(":")) ?? range;
    return at === site ? addresses : addresses.map((address) => address.replace(/^\d+\.\d+\.|^fd77:\w+:0:/, nameOf));
  };

  it("have a pod on each node of the one, and on one of the other", () => {
    assert.deepEqual([...new Set(members.map(({ node }) => node))].length, 3);
    assert.equal(members.filter(({ site }) => site === AWAY).length, 1);
  });

  const everyPodReachesEveryOther = async () => {
    for (const from of members)
      for (const to of members) {
        if (from === to) continue;
        for (const [i, address] of called(from.site, to).entries()) {
          const answer = await asks(from.name, address);
          assert.deepEqual(answer, { name: to.name, seen: called(to.site, from)[i] }, `${from.node} to ${to.node}`);
        }
      }
  };

  it(
    "let every pod reach every other one, and be seen by its own address as it is called there",
    everyPodReachesEveryOther,
  );

  it("have a Service of which every pod answers, wherever it is asked", async () => {
    for (const from of members) {
      const heard = new Set<string>();
      await eventually(`all answer ${from.name} on ${from.node}`, async () => {
        const { name, seen } = await ask(from.name, "web");
        heard.add(name);
        const to = members.find((each) => each.name === name);
        // A pod that is led back to itself has its node's address.
        if (to !== undefined && to !== from) assert.ok(called(to.site, from).includes(seen), seen);
        return heard.size === members.length;
      });
    }
  });

  it("have names of all pods of a headless Service, by addresses that answer", async () => {
    for (const from of members) {
      const addresses = await eventually(`${from.name} resolves it`, async () => {
        const text = await inPod(
          from.name,
          "sh",
          "-c",
          'nslookup each.$(sed -n "s/^search \\([^ ]*\\).*/\\1/p" /etc/resolv.conf)',
        );
        const found = [...text.matchAll(/^Address(?: \d+)?: *([0-9a-f.:]+)$/gm)]
          .map(([, address = ""]) => address)
          .filter((address) => !address.endsWith(":53"));
        return found.length === members.length * families && found;
      });
      assert.deepEqual(addresses.sort(), members.flatMap((member) => called(from.site, member)).sort());
      const names = await Promise.all(addresses.map(async (address) => (await asks(from.name, address)).name));
      assert.deepEqual(new Set(names), new Set(members.map(({ name }) => name)));
    }
  });

  it("let a pod of another namespace reach nothing there", async () => {
    const there = members.find(({ site }) => site === AWAY) as Member;
    for (const address of called(HOME, there)) {
      const command = ["timeout", "3", "wget", "-q", "-O", "-", urlOf(address)];
      await assert.rejects(bed.kubectl(HOME, "-n=other", "exec", "stranger", "--", ...command), /143|timed out/);
    }
  });

  it("say in their Links that they are up", async () => {
    await eventually("both have seen the other", async () => {
      const states = await Promise.all(
        [HOME, AWAY].map((name) =>
          bed.kubectl(name, "get", "links", "--output=jsonpath={.items[*].status.conditions[0].reason}"),
        ),
      );
      return states.every((state) => state === "HandshakeSeen");
    });
  });

  const testWords = ["network", "test", "--deploy"];
  const testNamespaces = async () => {
    const names = await Promise.all(
      [HOME, AWAY].map((name) => bed.kubectl(name, "get", "namespaces", "--output=name")),
    );
    return names.join("").match(/network-test-fjord\S*/g) ?? [];
  };

  /** What has not passed of all that there is to try; nothing is left of it by then. */
  const tried = async () => {
    const { exitCode, stdout, stderr } = await fjordResult(bed.site(HOME), ...testWords, "-o=json");
    assert.match(stderr, /pods are brought to site-1, site-2/);
    assert.deepEqual(await testNamespaces(), []);
    const { items } = JSON.parse(stdout) as { items: TrialJson[] };
    const failed = items.flatMap(({ from, outcomes }) =>
      Object.entries(outcomes).flatMap(([column, { result, detail }]) =>
        result === "Passed" ? [] : [`${column} from ${from}: ${result}: ${detail}`],
      ),
    );
    return { exitCode, failed, directions: items.map(({ from, to }) => [from, to]), stderr };
  };

  it("are tried by `fjord network test --deploy` as a whole matrix, by pods of its own of which nothing is left", async (t) => {
    // On a machine that stands still for seconds links lose packets, and the test says so: then once more.
    for (let attempt = 1; ; attempt++) {
      const { exitCode, failed, directions, stderr } = await tried();
      assert.deepEqual(directions, [
        [HOME, AWAY],
        [AWAY, HOME],
      ]);
      if (exitCode === 0 && failed.length === 0) return;
      t.diagnostic(failed.join("; "));
      assert.ok(attempt < 3, `${failed.join("\n")}\n${stderr}`);
    }
  });

  it("refuse a test whose image is nowhere to be had, and leave nothing of it", async () => {
    const { exitCode, stderr } = await fjordResult(bed.site(HOME), ...testWords, "--image=nowhere.example/none:1");
    assert.equal(exitCode, 1);
    assert.match(stderr, /no pod is ready at site-2: (ImagePullBackOff|ErrImagePull).*\[CLI_NO_TEST_PODS\]/s);
    assert.deepEqual(await testNamespaces(), []);
  });

  it("leave nothing of a test that is interrupted, and the next one removes what a killed one has left", async () => {
    const begin = async () => {
      const child = startFjord(bed.site(HOME).kubeconfig, ...testWords);
      await eventually("it has brought pods", async () => {
        const { items } = await bed.get<{ items: PodJson[] }>(HOME, "pods", "-n=network-test-fjord");
        return items.length === 2;
      });
      return child;
    };
    const interrupted = await begin();
    interrupted.kill("SIGINT");
    const [code] = await once(interrupted, "exit");
    assert.equal(code, 130);
    assert.deepEqual(await testNamespaces(), []);
    const killed = await begin();
    killed.kill("SIGKILL");
    await once(killed, "exit");
    assert.equal((await testNamespaces()).length, 4);
    const { stderr } = await tried();
    assert.match(stderr, /what a test before this one has left is removed first/);
  });

  const gatewayOf = async (name: string): Promise<RealNode> => {
    const node = await bed.kubectl(name, "get", "site", name, "--output=jsonpath={.status.gateway.node}");
    return nodesOf(name).find((each) => each.name === node) as RealNode;
  };

  it("have another node carry the links where the agent of the first one is killed, and that one follow when it is back", async () => {
    const first = await gatewayOf(AWAY);
    const agent = bed.site(AWAY).process(linkProcess(first));
    await agent.kill();
    const next = await eventually("another one is the gateway", async () => {
      const node = await gatewayOf(AWAY);
      return node !== first && node;
    });
    await agent.start();
    await eventually("the first one has given its links away", async () => {
      const there = await networkOf(first);
      // Its interface is there again, for when it takes over, and nothing leads into it but the kernel's own route to where its address is.
      const isLed = there.some((route) => route.includes(" dev fjord0 ") && !route.includes(" proto kernel "));
      return !isLed && there.some((route) => route.includes(`dst ${next.plan.addresses[0]}`));
    });
    await everyPodReachesEveryOther();
  });

  /** Cuts off the node that carries the links of home, while a pod of another one asks over them. */
  const nodeIsCutOff = async (t: TestContext) => {
    const cut = await gatewayOf(HOME);
    const from = members.find(({ site, node }) => site === HOME && node !== cut.name) as Member;
    const [to = ""] = called(HOME, members.find(({ site }) => site === AWAY) as Member);
    const url = urlOf(to);
    const now = 'cut -d" " -f1 /proc/uptime';
    const one = `(timeout 2 wget -q -O /dev/null ${url} && ${now} >> /tmp/reached) &`;
    const loop = `rm -f /tmp/reached; i=0; while [ $i -lt 200 ]; do ${one} i=$((i+1)); sleep 0.1; done; ${now} > /tmp/asked; wait`;
    const asking = inPod(from.name, "sh", "-c", loop);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    await setCables(namespaces, cut, wireAddress(cut), "down");
    await asking;
    await setCables(namespaces, cut, wireAddress(cut), "up");
    const timesIn = async (file: string) => (await inPod(from.name, "cat", file)).trim().split("\n").map(Number);
    const reached = await timesIn("/tmp/reached");
    // Where nobody answers any more, that lasts as long as it was asked.
    const times = [...reached, ...(await timesIn("/tmp/asked"))].sort((a, b) => a - b);
    const longest = Math.max(...times.slice(1).map((time, i) => time - (times[i] ?? 0)));
    t.diagnostic(`${reached.length} of 200 answered, ${longest.toFixed(1)} s without an answer`);
    assert.notEqual(await gatewayOf(HOME), cut);
    assert.ok(longest < 10, `${longest} s without an answer`);
    await everyPodReachesEveryOther();
  };

  it("have another node carry the links where the first one is cut off, and all of them when it is back", nodeIsCutOff);

  it("have a node carry the links again that was cut off before, where the other one is cut off", nodeIsCutOff);

  it("let a node only follow, with rights to nothing but where to", async () => {
    const carries = await gatewayOf(HOME);
    const node = nodesOf(HOME).find((each) => each !== carries) as RealNode;
    await siteOf(node).process(linkProcess(node)).stop();
    await removeGateway(node);
    await startGateway(siteOf(node), node, "node");
    await eventually("it leads to the gateway", async () =>
      (await networkOf(node)).some(
        (route) =>
          route.includes(`dst ${carries.plan.addresses[0]}`) || route.includes(`via ${carries.plan.addresses[0]}`),
      ),
    );
    await everyPodReachesEveryOther();
    const as = (account: string) => `--as=system:serviceaccount:fjord-system:${account}`;
    const may = (account: string, ...what: string[]) =>
      bed.kubectl(HOME, "auth", "can-i", ...what, "--namespace=fjord-system", as(account)).then(
        () => true,
        () => false,
      );
    assert.deepEqual(
      [await may("fjord-gateway", "get", "secret/fjord-link"), await may("fjord-follower", "get", "secret/fjord-link")],
      [true, false],
    );
    for (const account of ["fjord-gateway", "fjord-follower"])
      for (const what of [
        ["get", "secrets"],
        ["update", "sites.fjord.dev"],
        ["create", "pods"],
        ["patch", "nodes"],
      ])
        assert.equal(await may(account, ...what), false, `${account} ${what}`);
    await siteOf(node).process(linkProcess(node, "node")).stop();
    await siteOf(node).process(linkProcess(node)).start();
  });

  it("leave nothing on nodes from which it is removed", async () => {
    for (const node of allNodes()) {
      await siteOf(node).process(linkProcess(node)).stop();
      await removeGateway(node);
      assert.deepEqual(await networkOf(node), empty.get(node.name));
    }
  });
});

interface TrialJson {
  readonly from: string;
  readonly to: string;
  readonly outcomes: Readonly<Record<string, { readonly result: string; readonly detail: string }>>;
}

interface PodJson {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly nodeName: string };
  readonly status: { readonly podIPs: readonly { readonly ip: string }[] };
}

const urlOf = (host: string) => `http://${host.includes(":") ? `[${host}]` : host}:${PORT}/cgi-bin/who`;

/** `240.1.` of `240.1.0.0/16`, and `fd66:6a6f:0:` of `fd66:6a6f::/48`. */
function beginningOf(range: string): string {
  if (!range.includes(":")) return `${range.split(".").slice(0, 2).join(".")}.`;
  const [known = ""] = range.split("::");
  return `${[...known.split(":"), "0"].slice(0, 3).join(":")}:`;
}

function service(name: string, spec: object = {}): object {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: "shop" },
    spec: { selector: { app: "web" }, ports: [{ port: PORT }], ipFamilyPolicy: "PreferDualStack", ...spec },
  };
}
