import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AddressPlan, Link, newObject } from "@fjord/api";
import type { EndpointSlice, NetworkPolicy, Pod } from "@fjord/kube";
import { runTrials } from "./run-trials.ts";
import { matrix } from "./trial-matrix.ts";
import { type Asker, COLUMNS, chancesBetween, chancesOf, linkOutcomes, type Outcome, type TrialRow } from "./trials.ts";

const OWN = "aaaaaaaaaaaaaaaaaaaaaaaaaa";
const PEER = "bbbbbbbbbbbbbbbbbbbbbbbbbb";
const range = "10.42.0.0/16";
const plan = newObject(AddressPlan, {
  metadata: { name: PEER },
  spec: {
    site: PEER,
    own: [{ range, called: "241.9.0.0/16" }],
    peer: [{ range, called: "240.0.0.0/16" }],
  },
});
const pod = (name: string, podIP: string, phase = "Running"): Pod =>
  ({ metadata: { name, namespace: "shop" }, spec: {}, status: { podIP, phase } }) as Pod;
const slice = (...addresses: string[]): EndpointSlice =>
  ({
    metadata: { labels: { "kubernetes.io/service-name": "web" } },
    endpoints: [{ addresses }],
    ports: [{ port: 8080 }],
  }) as unknown as EndpointSlice;
const shop = {
  name: "shop",
  pods: [pod("old", "10.42.0.6", "Succeeded"), pod("here", "10.42.0.7"), pod("there", "240.0.3.9")],
  slices: [slice("10.42.0.7", "240.0.3.9")],
};
const reached = async () => 0;

describe("who could ask whom over a link", () => {
  it("is a pod of a namespace that both have, and what listens on the other side by its name there", () => {
    const all = chancesOf(OWN, plan, [{ ...shop, name: "empty", pods: [], slices: [] }, shop]);
    assert.deepEqual([all.out.length, all.back.length], [1, 1], "nobody could ask in the empty one");
    const [[out = {}], [back = {}]] = [all.out, all.back];
    assert.deepEqual(
      [out.asker?.pod, out.targets, out.lack],
      ["here", [{ address: "240.0.3.9", port: 8080 }], undefined],
    );
    assert.deepEqual(
      [back.asker?.pod, back.targets, back.lack],
      ["there", [{ address: "241.9.0.7", port: 8080 }], undefined],
    );
  });

  it("is somebody in each namespace, and says what one of them lacks", () => {
    const quiet = { ...shop, name: "quiet", slices: [] };
    const { out } = chancesOf(OWN, plan, [quiet, shop]);
    assert.deepEqual(
      out.map(({ asker, lack }) => [asker?.namespace, lack === undefined]),
      [
        ["quiet", false],
        ["shop", true],
      ],
    );
  });

  it("is asked by each family that the asker has", () => {
    const names = (four: string, six: string) => [
      { range, called: four },
      { range: "fd42::/64", called: six },
    ];
    const spec = { own: names("241.9.0.0/16", "fd66:6a6f:9::/64"), peer: names("240.0.0.0/16", "fd66:6a6f::/64") };
    const dual = newObject(AddressPlan, { metadata: { name: PEER }, spec: { site: PEER, ...spec } });
    const both = (name: string, ...ips: string[]): Pod => {
      const plain = pod(name, ips[0] ?? "");
      return { ...plain, status: { ...plain.status, podIPs: ips.map((ip) => ({ ip })) } };
    };
    const facts = {
      name: "shop",
      pods: [both("here", "10.42.0.7", "fd42::7"), both("there", "240.0.3.9")],
      slices: [slice("fd42::7", "fd66:6a6f::9"), slice("10.42.0.7", "240.0.3.9")],
    };
    const { out, back } = chancesOf(OWN, dual, [facts]);
    const addresses = [out, back].map(([chances]) => chances?.targets?.map(({ address }) => address));
    assert.deepEqual(addresses, [["240.0.3.9", "fd66:6a6f::9"], ["241.9.0.7"]], "the one there has IPv4 alone");
  });

  it("asks those that say that they listen before those of which nobody knows", () => {
    const listening = (plain: Pod, container: object): Pod =>
      ({ ...plain, spec: { containers: [{ name: "main", ...container }] } }) as Pod;
    const [here, db, web] = [pod("here", "10.42.0.7"), pod("db", "240.0.3.8"), pod("web", "240.0.3.9")];
    const headless = slice("240.0.3.8");
    const named = { ...headless, metadata: { labels: { "kubernetes.io/service-name": "db" } } };
    const slices = [named, slice("240.0.3.9")];
    for (const container of [{ ports: [{ containerPort: 8080 }] }, { readinessProbe: { tcpSocket: { port: 8080 } } }]) {
      const pods = [listening(here, {}), listening(db, {}), listening(web, container)];
      const { out, back } = chancesOf(OWN, plan, [{ name: "shop", pods, slices }]);
      assert.deepEqual([out[0]?.targets?.[0]?.address, out[0]?.service?.name], ["240.0.3.9", "web"]);
      assert.equal(back[0]?.service?.name, "web", "whoever answers for it is elsewhere");
    }
  });

  it("is nobody where there is nothing, and says why", () => {
    assert.match(chancesOf(OWN, plan, []).out[0]?.lack ?? "", /no namespace has pods at both/);
    const silent = chancesOf(OWN, plan, [{ ...shop, slices: [slice("10.42.0.7")] }]);
    assert.match(silent.out[0]?.lack ?? "", /no Service .* endpoint there/);
    const alone = chancesOf(OWN, plan, [{ ...shop, pods: [pod("here", "10.42.0.7")] }]);
    assert.match(alone.back[0]?.lack ?? "", /no pod that runs there/);
  });
});

describe("what is tried", () => {
  const { out } = chancesOf(OWN, plan, [shop]);
  const chances = { ...out[0], service: { name: "web", port: 80 } };
  const outsider: Asker = { namespace: "other", pod: "stranger" };

  it("passes where others are answered and the outsider is not", async () => {
    const asked: string[] = [];
    const outcomes = await runTrials([chances], {
      outsider,
      run: async (asker, script) => {
        asked.push(asker.pod);
        return asker.pod === "stranger" ? 1 : script.includes("web") || script.includes("240.0.3.9") ? 0 : 1;
      },
    });
    assert.deepEqual(
      Object.values(outcomes).map(({ result }) => result),
      ["Passed", "Passed", "Passed", "Passed"],
    );
    assert.deepEqual(asked.toSorted(), ["here", "here", "here", "stranger"]);
  });

  it("fails where one family does, or an outsider is answered by one", async () => {
    const dual = { ...chances, targets: [...(chances.targets ?? []), { address: "fd66:6a6f::9", port: 8080 }] };
    const isIPv6 = (script: string) => script.includes("fd66:");
    const half = await runTrials([dual], { run: async (_, script) => (isIPv6(script) ? 1 : 0) });
    assert.deepEqual([half.pod.result, half.pod.detail], ["Failed", "[fd66:6a6f::9]:8080 does not answer shop/here"]);
    const open = await runTrials([dual], {
      outsider,
      run: async ({ pod: name }, script) => (name === "stranger" && !isIPv6(script) ? 1 : 0),
    });
    assert.deepEqual([open.pod.result, open.policy.result], ["Passed", "Failed"]);
    assert.match(open.policy.detail, /reaches \[fd66:6a6f::9\]:8080$/);
  });

  it("fails where the outsider is answered, and where nobody is", async () => {
    assert.equal((await runTrials([chances], { outsider, run: reached })).policy.result, "Failed");
    const outcomes = await runTrials([chances], { outsider, run: async () => 1 });
    assert.equal(outcomes.pod.result, "Failed");
    assert.match(outcomes.pod.detail, /240\.0\.3\.9:8080 does not answer shop\/here/);
    assert.equal(outcomes.policy.result, "NotTested", "that nobody is answered says nothing of policies");
  });

  it("does not claim to have tested what it could not", async () => {
    for (const code of [66, 127]) {
      const outcomes = await runTrials([chances], { outsider, run: async () => code });
      assert.ok(Object.values(outcomes).every(({ result }) => result === "NotTested"));
    }
    const refused = await runTrials([chances], { run: () => Promise.reject(new Error("forbidden")) });
    assert.match(refused.pod.detail, /no command can be run in shop\/here: .*forbidden/);
    assert.match(refused.policy.detail, /--outsider/);
    assert.equal((await runTrials([{ lack: "no pod" }], { run: reached })).dns.detail, "no pod");
  });
});

describe("pods that NetworkPolicies are about", () => {
  const labelled = (labels: Record<string, string>, ...[name, ip]: Parameters<typeof pod>): Pod => {
    const plain = pod(name, ip);
    return { ...plain, metadata: { ...plain.metadata, labels } };
  };
  const policy = (name: string, app: string | undefined, spec: object): NetworkPolicy => {
    const podSelector = app === undefined ? {} : { matchLabels: { app } };
    return { metadata: { name, namespace: "shop" }, spec: { podSelector, ...spec } } as unknown as NetworkPolicy;
  };
  const nobodyIn = (app?: string) => policy("nobody-in", app, { policyTypes: ["Ingress"] });
  const nobodyOut = (app?: string) => policy("nobody-out", app, { policyTypes: ["Egress"] });
  const facts = (...policies: NetworkPolicy[]) => ({
    name: "shop",
    pods: [
      labelled({ app: "db" }, "db-here", "10.42.0.7"),
      labelled({ app: "web" }, "web-here", "10.42.0.8"),
      labelled({ app: "db" }, "db-there", "240.0.3.9"),
      labelled({ app: "web" }, "web-there", "240.0.3.10"),
    ],
    slices: [slice("10.42.0.7", "10.42.0.8", "240.0.3.9", "240.0.3.10")],
    policies,
  });
  const asked = (...policies: NetworkPolicy[]) => {
    const { out, back } = chancesOf(OWN, plan, [facts(...policies)]);
    return [out, back].map(([each]) => [each?.asker?.pod, each?.targets?.[0]?.address]);
  };
  const tried = async (code: number, ...policies: NetworkPolicy[]) => {
    const { out } = chancesOf(OWN, plan, [facts(...policies)]);
    const chances = out.map((each) => ({ ...each, ...(each.service && { service: { ...each.service, port: 80 } }) }));
    return await runTrials(chances, { run: async () => code });
  };

  it("are not asked while there are others, which are the first ones where no policy is", () => {
    assert.deepEqual(asked(), [
      ["db-here", "240.0.3.9"],
      ["db-there", "241.9.0.7"],
    ]);
    assert.deepEqual(asked(nobodyIn("db"), nobodyOut("db")), [
      ["web-here", "240.0.3.10"],
      ["web-there", "241.9.0.8"],
    ]);
  });

  it("are asked where a policy lets them pass, and no other is there that it does not keep apart", () => {
    const from = [{ podSelector: { matchLabels: { app: "web" } } }];
    const webAlone = policy("web-alone", undefined, { policyTypes: ["Ingress"], ingress: [{ from }] });
    assert.deepEqual(asked(webAlone), [
      ["web-here", "240.0.3.9"],
      ["web-there", "241.9.0.7"],
    ]);
  });

  it("have not failed where a policy keeps all of them apart: the link was not tested, and it says by which", async () => {
    const { pod: found, service, dns } = await tried(1, nobodyIn());
    assert.deepEqual([found.result, service.result, dns.result], ["NotTested", "NotTested", "Failed"]);
    assert.match(
      found.detail,
      /240\.0\.3\.9:8080 does not answer shop\/db-here, which NetworkPolicy shop\/nobody-in drops$/,
    );
    const out = await tried(1, nobodyOut());
    assert.deepEqual([out.pod.result, out.service.result, out.dns.result], ["NotTested", "NotTested", "NotTested"]);
    const reached = await tried(0, nobodyIn());
    assert.deepEqual([reached.pod.result, reached.service.result], ["Passed", "Passed"], "nobody enforces it");
  });

  it("have failed where a policy lets them pass, and it says which may not", async () => {
    const all = policy("all", undefined, { policyTypes: ["Ingress", "Egress"], ingress: [{}], egress: [{}] });
    const { pod: found, dns } = await tried(1, all);
    assert.deepEqual([found.result, dns.result], ["Failed", "Failed"]);
    for (const { detail } of [found, dns]) assert.match(detail, /, which NetworkPolicy shop\/all may drop$/);
  });
});

describe("a site that serves no names", () => {
  const { out } = chancesOf(OWN, plan, [shop]);
  const chances = { ...out[0], service: { name: "web", port: 80 } };
  const run = async (_: Asker, script: string) =>
    script.includes("resolv.conf") ? 67 : script.includes("$WEB_SERVICE_HOST") || script.includes("240.0.3.9") ? 0 : 1;

  it("has its Services tried by the variables of pods, and its names not at all", async () => {
    const outcomes = await runTrials([chances], { run });
    assert.deepEqual([outcomes.service.result, outcomes.dns.result], ["Passed", "NotTested"]);
    assert.match(outcomes.dns.detail, /does not ask the cluster for names/);
    const before = await runTrials([chances], { run: async (_, script) => (script.includes("HOST") ? 68 : 67) });
    assert.deepEqual([before.service.result, before.dns.result], ["NotTested", "NotTested"]);
  });
});

describe("several namespaces", () => {
  const { out } = chancesOf(OWN, plan, [shop, { ...shop, name: "quiet", slices: [] }]);

  it("have failed where one has, and tell where nothing could be tried", async () => {
    const good = await runTrials(out, { run: reached });
    assert.deepEqual([good.pod.result, good.pod.except?.length], ["Passed", 1]);
    assert.match(good.pod.except?.[0] ?? "", /^in quiet: no Service/);
    const both = chancesOf(OWN, plan, [shop, { ...shop, name: "broken" }]).out;
    const bad = await runTrials(both, { run: async ({ namespace }) => (namespace === "broken" ? 1 : 0) });
    assert.equal(bad.pod.result, "Failed");
    assert.match(bad.pod.detail, /broken\/here$/);
    const nobody = chancesOf(OWN, plan, [{ ...shop, pods: [pod("there", "240.0.3.9")] }, shop]).out;
    const partly = await runTrials(nobody, { run: reached });
    assert.match(partly.pod.except?.[0] ?? "", /^in shop: no pod that runs here could ask$/);
  });
});

describe("guests at two providers", () => {
  const OTHER = "cccccccccccccccccccccccccc";
  const planOf = (site: string, spec: object) =>
    newObject(AddressPlan, { metadata: { name: site }, spec: { site, own: [], peer: [], ...spec } });
  const names = (called: string) => [{ range, called }];
  const one = planOf(PEER, { peer: names("240.0.0.0/16"), others: [{ site: OTHER, names: names("245.1.0.0/16") }] });
  const other = planOf(OTHER, { peer: names("240.7.0.0/16"), others: [{ site: PEER, names: names("245.2.0.0/16") }] });
  const both = {
    name: "shop",
    pods: [pod("here", "10.42.0.7"), pod("one", "240.0.3.9"), pod("two", "240.7.3.8")],
    slices: [slice("10.42.0.7", "240.0.3.9", "240.7.3.8")],
  };

  it("ask each other by what the one calls the other", () => {
    const asked = [chancesBetween(one, other, [both]), chancesBetween(other, one, [both])];
    assert.deepEqual(
      asked.map((chances) => chances?.map(({ asker, targets, lack }) => [asker?.pod, targets?.[0]?.address, lack])),
      [[["one", "245.1.3.8", undefined]], [["two", "245.2.3.9", undefined]]],
    );
  });

  it("ask each other by stand-ins where agents carry", () => {
    const carried = (site: string, called: string, there: string) =>
      planOf(site, { carrier: "Proxy", own: [{ range: "127.88.0.0/16", called: there }], peer: names(called) });
    const [a, b] = [carried(PEER, "240.0.0.0/16", "127.90.0.0/16"), carried(OTHER, "127.88.0.0/16", "127.91.0.0/16")];
    const facts = {
      ...both,
      pods: [pod("one", "240.0.3.9"), pod("two", "127.88.128.3")],
      slices: [slice("127.88.128.3")],
    };
    assert.equal(chancesBetween(a, b, [facts])?.[0]?.targets?.[0]?.address, "127.90.128.3");
  });

  it("are no pair where nobody has introduced the two, or none of a namespace is at both", () => {
    assert.equal(chancesBetween(planOf(PEER, { peer: names("240.0.0.0/16") }), other, [both]), undefined);
    assert.equal(chancesBetween(one, other, [shop]), undefined);
  });

  it("say what they lack", () => {
    const silent = planOf(PEER, { peer: names("240.0.0.0/16"), others: [{ site: OTHER, names: [] }] });
    assert.match(chancesBetween(silent, other, [both])?.[0]?.lack ?? "", /not said yet what they call each other/);
    assert.match(chancesBetween(one, other, [{ ...both, slices: [] }])?.[0]?.lack ?? "", /no Service .* at the other/);
  });
});

describe("what the gateway has said", () => {
  const ready = (status: string, reason: string) =>
    ({ type: "Ready", status, reason, message: "", lastTransitionTime: "2030-01-01T00:00:00Z" }) as never;
  const link = (status: NonNullable<Link["status"]>): Link => ({
    ...newObject(Link, { metadata: { name: PEER }, spec: { site: PEER, publicKey: "k", endpoints: [], groups: [] } }),
    status,
  });
  const results = (status: NonNullable<Link["status"]> | undefined) =>
    Object.values(linkOutcomes(status && link(status), 1380)).map(({ result }) => result);

  it("passes, fails, or is not known", () => {
    const up = { conditions: [ready("True", "HandshakeSeen")] };
    assert.deepEqual(results({ ...up, latencyMicroseconds: 900, lossPercent: 0, mtu: 1380 }), [
      "Passed",
      "Passed",
      "Passed",
    ]);
    assert.deepEqual(results({ ...up, latencyMicroseconds: 900, lossPercent: 50, mtu: 1279 }), [
      "Passed",
      "Failed",
      "Failed",
    ]);
    const smaller = linkOutcomes(link({ ...up, mtu: 1300 }), 1380).mtu;
    assert.deepEqual(smaller, { result: "Passed", detail: "1300 of 1380" }, "no larger packets are sent there");
    assert.deepEqual(results({ ...up, lossPercent: 100 }), ["Passed", "Failed", "NotTested"]);
    assert.deepEqual(results(up), ["Passed", "NotTested", "NotTested"]);
    assert.deepEqual(results({ conditions: [ready("False", "NoHandshake")] })[0], "Failed");
    assert.deepEqual(results({ conditions: [] })[0], "Failed");
    assert.deepEqual(results(undefined), ["Failed", "NotTested", "NotTested"]);
  });

  it("is shown as a matrix, with what failed and what was not tested below", () => {
    const passed = { result: "Passed", detail: "1.2ms" } as const;
    const outcomes = {
      ...(Object.fromEntries(COLUMNS.map((column) => [column, passed])) as TrialRow["outcomes"]),
      pod: { result: "Failed", detail: "240.0.3.9:80 does not answer" },
      dns: { result: "NotTested", detail: "no pod" },
    } as const;
    const lines = matrix([{ from: "harbor", to: "wave", outcomes }]).split("\n");
    assert.deepEqual(lines[1]?.split(/ +/), ["harbor", "wave", "ok", "1.2ms", "1.2ms", "FAILED", "ok", "-", "ok"]);
    assert.ok(lines.includes("FAILED: pod from harbor to wave: 240.0.3.9:80 does not answer"));
    assert.ok(lines.includes("not tested: dns from harbor to wave: no pod"));
    assert.ok(lines.some((line) => /^`fjord network explain POD ADDRESS .*NetworkPolicy/.test(line)));
    assert.equal(lines.at(-2), "5 passed, 1 failed, 1 not tested");
    const well = matrix([{ from: "harbor", to: "wave", outcomes: { ...outcomes, pod: passed } }]);
    assert.doesNotMatch(well, /network explain/);
  });

  it("says once why many directions were not tested, unless each is asked for", () => {
    const none: Outcome = { result: "NotTested", detail: "no packets" };
    const partly: Outcome = { result: "Passed", detail: "x", except: ["in rush: no pod"] };
    const outcomes = {
      ...(Object.fromEntries(COLUMNS.map((column) => [column, partly])) as TrialRow["outcomes"]),
      latency: none,
      mtu: none,
    };
    const rows = ["wave", "wood", "smoke"].map((to) => ({ from: "harbor", to, outcomes }));
    const remarks = (isEach: boolean) =>
      matrix(rows, isEach)
        .split("\n")
        .filter((line) => /^(not tested|tested in part): /.test(line));
    assert.deepEqual(remarks(false), [
      "not tested: latency, mtu from harbor to wave and 2 more: no packets",
      "tested in part: link, pod, service, dns, policy from harbor to wave and 2 more, not in rush: no pod",
    ]);
    assert.equal(remarks(true).length, 6);
    assert.ok(remarks(true).includes("not tested: latency, mtu from harbor to smoke: no packets"));
    assert.match(
      matrix(rows),
      /\n15 passed, 0 failed, 6 not tested; 15 of these tested in part\n$/,
      "as the lines say",
    );
  });
});
