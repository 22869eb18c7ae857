import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { gunzipSync } from "node:zlib";
import { Contract, Peering, Site } from "@fjord/api";
import { Deployment, getCondition, type KubeClient, Namespace, Pod, Secret, StatefulSet } from "@fjord/kube";
import { Continuum } from "@fjord/testbed/agents";
import { kubectlProgram, kubernetesSkip, startTestBed, testedFjord } from "@fjord/testbed/testing";
import { prometheusSkip, TestPrometheus } from "./test-prometheus.ts";

const cli = testedFjord();
const HOME = "site-1";
const AWAY = "site-2";
const NAMESPACE = "shop";

/** One of each way in which somebody may have let a secret lie about. */
const PLANTED = {
  variable: "planted-variable-4711",
  argument: "planted-argument-4711",
  annotation: "planted-annotation-4711",
  secret: "planted-secret-4711",
  log: "planted-log-4711",
};

describe("what the owner of a site does every day", { skip: kubernetesSkip(), timeout: 300_000 }, () => {
  let continuum: Continuum;
  let home: KubeClient;
  let folder: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "fjord-cli-"));
    continuum = new Continuum(await startTestBed({ sites: 2, simulatedNodes: 1, kubernetes: "microkube" }));
    await continuum.startAgents();
    home = continuum.client(HOME);
    await continuum.share(AWAY);
    await continuum.peer(HOME, AWAY, "--cpu=4", "--memory=4Gi", "--pods=20");
    await home.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } });
  });

  after(async () => {
    await home?.close();
    await continuum?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  const fjord = (...args: readonly string[]) =>
    new Promise<{ code: number; out: string; err: string }>((resolve) => {
      const env = {
        ...process.env,
        KUBECONFIG: continuum.site(HOME).kubeconfig,
        FJORD_KUBECTL: kubectlProgram("1.36"),
      };
      execFile(process.execPath, [cli, ...args], { env, maxBuffer: 1 << 26 }, (error, out, err) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), out, err });
      });
    });

  const nodesOf = async (name: string) => {
    const { items } = await home.list(Pod, { namespace: NAMESPACE, labelSelector: `app=${name}` });
    const alive = items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    return alive.map(({ spec }) => spec?.nodeName);
  };

  it("tells all versions, and its own where nobody answers", async () => {
    const { out } = await fjord("version");
    assert.match(
      out,
      /^fjord: \d\S+ \(Node v\d.*\)\nagent: \d\S+ \(site site-1\)\nKubernetes: v1\.\d+\S* \(https:\S+\)\n$/,
    );
    const json = JSON.parse((await fjord("version", "-o", "json")).out) as Record<string, object>;
    assert.deepEqual(Object.keys(json), ["client", "kubernetes", "agent"]);
    assert.match((await fjord("version", "--client")).out, /^fjord: [^\n]*\n$/);
    const alone = await fjord("version", "--kubeconfig=/does/not/exist");
    assert.equal(alone.code, 1);
    assert.match(alone.out, /^fjord: /);
    assert.match(alone.err, /^error: /);
  });

  it("says why a pod may not be moved, and what to do", async () => {
    await home.create(Deployment, deployment("web", 2) as Deployment);
    const before = await fjord("move", "web", AWAY, "-n", NAMESPACE);
    assert.equal(before.code, 1);
    assert.match(before.err, /namespace shop is not offloaded: `fjord offload shop`/);
    assert.match((await fjord("move", "wep", AWAY, "-n", NAMESPACE)).err, /did you mean web\?/);
    assert.match(
      (await fjord("move", "web", "site-3", "-n", NAMESPACE)).err,
      /no site site-3 here \(did you mean site-/,
    );
    assert.match((await fjord("move", "pod/web", AWAY, "-n", NAMESPACE)).err, /only a Deployment or a StatefulSet/);
    assert.match(
      (await fjord("move", "web", AWAY, "-n", "shopp")).err,
      /no namespace shopp here \(did you mean shop\?\)/,
    );
  });

  it("moves a workload to a site and back, and says where each pod is and why", async () => {
    assert.equal((await fjord("offload", NAMESPACE)).code, 0);
    const moved = await fjord("move", "deployment/web", AWAY, "-n", NAMESPACE);
    assert.deepEqual([moved.code, moved.out], [0, "deployment/web moved to site-2\n"], moved.err);
    assert.deepEqual(await nodesOf("web"), [AWAY, AWAY]);
    const why = await fjord("explain", "deployment/web", "-n", NAMESPACE);
    assert.match(
      why.out,
      /^Pod shop\/web-\S+\n {2}It is Running at site-2: virtual node site-2, which stands for that site/,
    );
    assert.match(why.out, /Namespace shop is offloaded: its pods may run here or at other sites/);
    assert.match(why.out, /its node affinity names the site site-2 \(`fjord move`\)/);
    assert.match(why.out, /Contract c-\S+ with site-2 is Active: cpu 4, memory 4Gi, pods 20, until /);
    assert.equal((await fjord("move", "web", "anywhere", "-n", NAMESPACE)).out, "deployment/web may run anywhere\n");
    const { spec } = await home.get(Deployment, { name: "web", namespace: NAMESPACE });
    assert.equal(spec?.template.spec?.affinity, undefined);
    const back = await fjord("move", "web", HOME, "-n", NAMESPACE);
    assert.equal(back.code, 0, back.err);
    assert.ok((await nodesOf("web")).every((node) => node?.startsWith("site-1-")));
  });

  it("moves nothing home where its pods may not run, and frees a StatefulSet that waits for a node", async () => {
    const generation = async () =>
      (await home.get(Deployment, { name: "web", namespace: NAMESPACE })).metadata.generation;
    const before = await generation();
    assert.equal((await fjord("offload", NAMESPACE, "--pods=Remote")).code, 0);
    const refused = await fjord("move", "web", "home", "-n", NAMESPACE);
    assert.deepEqual([refused.code, await generation()], [1, before]);
    assert.match(
      refused.err,
      /pods of namespace shop run at other sites only: `fjord offload shop --pods=Both` changes/,
    );
    assert.equal((await fjord("offload", NAMESPACE, "--pods=Both")).code, 0);
    const { spec } = deployment("db", 2) as Deployment;
    const key = { name: "db", namespace: NAMESPACE };
    await home.create(StatefulSet, {
      apiVersion: "apps/v1",
      kind: "StatefulSet",
      metadata: key,
      spec: { ...spec, serviceName: "db" },
    } as never);
    const pods = async () => (await home.list(Pod, { namespace: NAMESPACE, labelSelector: "app=db" })).items;
    const until = async (isSo: () => Promise<boolean>) => {
      while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 100));
    };
    await until(async () => ((await home.get(StatefulSet, key)).status?.readyReplicas ?? 0) === 2);
    const select = (disk: string | null) => ({ spec: { template: { spec: { nodeSelector: { disk } } } } });
    await home.patch(StatefulSet, key, "merge", select("of-nobody"));
    await until(async () => (await pods()).some((each) => each.spec?.nodeSelector?.["disk"] && !each.spec.nodeName));
    await home.patch(StatefulSet, key, "merge", select(null));
    const healed = await fjord("move", "statefulset/db", "anywhere", "-n", NAMESPACE);
    assert.deepEqual([healed.code, healed.out], [0, "statefulset/db may run anywhere\n"], healed.err);
    await home.delete(StatefulSet, key);
  });

  it("does not move what asks for another place, says what it asks for, and changes nothing", async () => {
    const { metadata, spec } = deployment("picky", 1) as Deployment;
    const nodeSelector = { disk: "ssd" };
    const template = { ...spec?.template, spec: { ...spec?.template.spec, nodeSelector } };
    await home.create(Deployment, {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata,
      spec: { ...spec, template },
    } as never);
    const key = { name: "picky", namespace: NAMESPACE };
    const refused = await fjord("move", "picky", AWAY, "-n", NAMESPACE);
    assert.deepEqual([refused.code, refused.out], [1, ""]);
    assert.match(
      refused.err,
      /picky cannot be moved to site-2: its nodeSelector asks for disk=ssd, and node site-2 has no label disk\n.*fjord explain/,
    );
    const after = await home.get(Deployment, key);
    assert.deepEqual([after.metadata.generation, after.spec?.template.spec?.affinity], [1, undefined]);
    await home.delete(Deployment, key);
  });

  it("explains a pod that waits, in the scheduler's words and in its own", async () => {
    await home.create(Pod, pod("hungry", { cpu: "4000" }) as Pod);
    for (;;) {
      const { status } = await home.get(Pod, { name: "hungry", namespace: NAMESPACE });
      if (status?.conditions?.some(({ reason }) => reason === "Unschedulable")) break;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const { out, code } = await fjord("explain", "hungry", "-n", NAMESPACE);
    assert.equal(code, 0);
    assert.match(
      out,
      /It is Pending: the scheduler found no node for it\. In its words: 0\/2 nodes are available: .*Insufficient cpu/,
    );
    assert.match(out, /site-2 is no help: it asks for cpu 4000, and contract c-\S+ has altogether cpu 4\.\n/);
    assert.match(out, /What to do: `fjord peer site-2 --cpu=4000` or more asks for a contract that has room for it/);
    const json = JSON.parse((await fjord("explain", "hungry", "-n", NAMESPACE, "-o", "json")).out) as { phase: string };
    assert.equal(json.phase, "Pending");
    assert.match((await fjord("explain", "hungri", "-n", NAMESPACE)).err, /did you mean hungry\?/);
    await home.delete(Pod, { name: "hungry", namespace: NAMESPACE });
  });

  it("runs kubectl at a peer, with what the contract allows, and at home", async () => {
    await home.create(Deployment, deployment("api", 1) as Deployment);
    assert.equal((await fjord("move", "api", AWAY, "-n", NAMESPACE)).code, 0);
    const there = await fjord("kubectl", AWAY, "--", "get", "pods", "-n", NAMESPACE, "-l", "app=api");
    assert.match(there.out, /^NAME +READY +STATUS .*\napi-\S+ +1\/1 +Running /, there.err);
    const without = await fjord("kubectl", AWAY, "get", "pods", "-n", NAMESPACE, "-o", "name");
    assert.match(without.out, /^pod\/api-/, without.err);
    const beyond = await fjord("kubectl", AWAY, "--", "get", "nodes");
    assert.equal(beyond.code, 1);
    assert.match(beyond.err, /Forbidden/);
    const foreign = await fjord("kubectl", AWAY, "--", "get", "secrets", "-n", "kube-system");
    assert.deepEqual([foreign.code, foreign.out], [1, ""]);
    assert.match(
      (await fjord("kubectl", HOME, "--", "get", "nodes", "-o", "name")).out,
      /^node\/site-1-\S+\nnode\/site-2\n$/,
    );
    const none = await fjord("kubectl", "site-9", "--", "get", "pods");
    assert.match(none.err, /no site, nor a context of the kubeconfig, called site-9 here \(did you mean site-\d\?\)/);
  });

  it("drains a contract: it is done when no pod is left there, and not before", async () => {
    const away = async () => {
      const { items } = await home.list(Pod, { namespace: NAMESPACE });
      return items.filter(({ spec }) => spec?.nodeName === AWAY).map(({ metadata }) => metadata.name);
    };
    assert.notDeepEqual(await away(), []);
    const drained = await fjord("drain", AWAY);
    assert.deepEqual([drained.code, await away()], [0, []], drained.err);
    assert.match(drained.out, /^contract c-\S+ drained\n$/);
    assert.match(drained.err, /^deployment\/api still asks for site-2 only, and its pods wait for it: `fjord move /m);
    assert.match(
      (await fjord("status")).out,
      /^Drains\n +CONTRACT +DRAINED +MESSAGE\n +c-\S+ +True +no pod is left\n/m,
    );
    assert.match((await fjord("uncordon", AWAY)).out, /^contract c-\S+ open\n$/);
    assert.match((await fjord("drain", AWAY, "--no-wait")).out, /^contract c-\S+ draining\n$/);
    assert.equal((await fjord("uncordon", AWAY)).code, 0);
  });

  it("says of a contract that its provider has cordoned that it is, and who opens it", async () => {
    const there = (verb: string) => fjord(verb, HOME, `--kubeconfig=${continuum.site(AWAY).kubeconfig}`);
    const told = async (standing: RegExp) => {
      while (!standing.test((await fjord("status")).out)) await new Promise((resolve) => setTimeout(resolve, 100));
    };
    const closed = await there("cordon");
    assert.deepEqual([closed.code, /^contract c-\S+ cordoned\n$/.test(closed.out)], [0, true], closed.err);
    assert.match(
      closed.err,
      /^nothing new begins here; its node shows that once site-1 has heard of it, within seconds/,
    );
    await told(/Consumer +site-2 +Active +Cordoned by site-2 /);
    const opened = await fjord("uncordon", AWAY);
    assert.match(opened.err, /^it is still cordoned by site-2, so its node takes no pods: `fjord uncordon` at site-2/);
    assert.equal((await there("uncordon")).code, 0);
    await told(/Consumer +site-2 +Active +Open /);
  });

  it("upgrades no agent that runs outside the cluster, and says how that is done", async () => {
    const { code, out, err } = await fjord("upgrade");
    assert.deepEqual([code, out], [1, ""]);
    assert.match(err, /^error: Fjord does not run at \S+ as a Deployment fjord-agent in namespace fjord-system: /);
    assert.match(err, /upgraded by starting the new version/);
  });

  it("is scraped by a real Prometheus, which takes the rules", { skip: prometheusSkip() }, async () => {
    await using prometheus = await TestPrometheus.start([HOME, AWAY].map((name) => continuum.agent(name).metricsUrl));
    interface Vector {
      readonly result: readonly { readonly metric: Record<string, string>; readonly value: [number, string] }[];
    }
    const ready = await prometheus.until<Vector>("query?query=fjord_site_ready", ({ result }) => result.length === 3);
    assert.deepEqual(ready.result.map(({ metric, value }) => `${metric.role} ${metric.site} ${value[1]}`).toSorted(), [
      "Peer site-2 1",
      "Self site-1 1",
      "Self site-2 1",
    ]);
    interface Rules {
      readonly groups: readonly { readonly rules: readonly { readonly name: string; readonly health: string }[] }[];
    }
    const { groups } = await prometheus.until<Rules>("rules", (found) =>
      found.groups.every(({ rules }) => rules.every(({ health }) => health !== "unknown")),
    );
    const alerts = groups.flatMap(({ rules }) => rules);
    assert.ok(alerts.length >= 10);
    assert.deepEqual(
      alerts.filter(({ health }) => health !== "ok"),
      [],
    );
  });

  it("completes names of this moment", async () => {
    const offered = async (...words: readonly string[]) =>
      (await fjord("__complete", ...words)).out.split("\n").map((line) => line.split("\t")[0]);
    assert.deepEqual(await offered("unoffload", ""), [NAMESPACE, ""]);
    assert.deepEqual(await offered("kubectl", "site-"), [HOME, AWAY, ""]);
    assert.deepEqual(await offered("move", "-n", NAMESPACE, "deployment/a"), ["deployment/api", ""]);
    assert.deepEqual(await offered("move", "-n", NAMESPACE, "deployment/api", "site-2"), [AWAY, ""]);
    assert.deepEqual(await offered("offload", "sh"), [NAMESPACE, ""]);
    assert.deepEqual(await offered("sites", "-o", "js"), ["json", "jsonpath=", ""]);
    assert.deepEqual(await offered("unof"), ["unoffload", ""]);
  });

  it("says nothing but what was asked for with -q", async () => {
    await home.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: "quiet" } });
    assert.deepEqual(await fjord("offload", "quiet", "-q"), { code: 0, out: "namespace quiet offloaded\n", err: "" });
  });

  it("reports without a single secret", async () => {
    const annotations = {
      "kubectl.kubernetes.io/last-applied-configuration": JSON.stringify({ key: PLANTED.annotation }),
    };
    const leaky = pod(
      "leaky",
      {},
      { env: [{ name: "KEY", value: PLANTED.variable }], args: [`--key=${PLANTED.argument}`] },
    );
    await home.create(Pod, {
      ...leaky,
      metadata: { ...leaky.metadata, namespace: "fjord-system", annotations },
    } as Pod);
    const stringData = { key: PLANTED.secret };
    await home.create(Secret, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "keys", namespace: "fjord-system" },
      stringData,
    });
    const log = join(folder, "agent.log");
    await writeFile(log, `connecting with token=${PLANTED.log}\nAuthorization: Bearer ${PLANTED.log}\nall is well\n`);
    const file = join(folder, "report.tar.gz");
    const { out, code, err } = await fjord("bug-report", "--file", file, "--log", log);
    assert.deepEqual([code, out], [0, `${file}\n`], err);
    const text = gunzipSync(await readFile(file)).toString("utf8");
    for (const [where, secret] of Object.entries(PLANTED)) assert.ok(!text.includes(secret), `the ${where} is in it`);
    assert.ok(!/PRIVATE KEY|eyJ[\w-]{20,}/.test(text));
    for (const part of [
      "versions.yaml",
      "objects/sites.yaml",
      "objects/contracts.yaml",
      "agent/pods.yaml",
      "events.yaml",
      "all is well",
      "name: leaky",
    ])
      assert.ok(text.includes(part), `${part} is not in it`);
    const listed = await new Promise<string>((resolve) =>
      execFile("tar", ["-tzf", file], (_, names) => resolve(names)),
    );
    assert.match(listed, /^fjord-report-\S+\/versions\.yaml$/m);
  });

  it("reports what it can where the cluster does not answer, and refuses a log that is not there", async () => {
    const cluster = { name: "c", cluster: { server: "http://127.0.0.1:1" } };
    const contexts = [{ name: "c", context: { cluster: "c", user: "u" } }];
    const config = { apiVersion: "v1", kind: "Config", "current-context": "c", contexts, clusters: [cluster] };
    const [silent, file] = [join(folder, "silent.yaml"), join(folder, "silent.tar.gz")];
    await writeFile(silent, JSON.stringify({ ...config, users: [{ name: "u", user: {} }] }));
    const { code, out, err } = await fjord("bug-report", `--kubeconfig=${silent}`, `--file=${file}`);
    assert.deepEqual([code, out], [1, `${file}\n`]);
    assert.match(
      err,
      /^cannot GET \/version at http:\/\/127\.0\.0\.1:1: .*\nonly what can be had without it is collected\n/,
    );
    assert.equal(err.includes("there is no pod"), false, err);
    assert.match(gunzipSync(await readFile(file)).toString("latin1"), /the cluster does not answer: /);
    const refused = await fjord("bug-report", "--log=/does/not/exist");
    assert.deepEqual([refused.code, refused.out], [1, ""]);
    assert.match(refused.err, /^error: the log \/does\/not\/exist cannot be read: ENOENT/);
    assert.match((await fjord("bug-report", `--log=${folder}`)).err, /cannot be read: it is a directory/);
  });

  it("says of a site that is away that it is, and changes nothing for it", async () => {
    const { process: agent } = continuum.agent(AWAY);
    const isAway = async () => {
      const { status } = await home.get(Site, { name: AWAY });
      return status?.conditions?.some(({ type, status: is }) => type === "Reachable" && is === "False") ?? false;
    };
    await agent.kill();
    try {
      while (!(await isAway())) await new Promise((resolve) => setTimeout(resolve, 100));
      const web = { name: "web", namespace: NAMESPACE };
      const before = await home.get(Deployment, web);
      const refused = await fjord("move", "web", AWAY, "-n", NAMESPACE);
      assert.deepEqual([refused.code, refused.out], [1, ""]);
      assert.match(
        refused.err,
        /^error: deployment\/web was not moved to site-2: site-2 does not answer \(.*\)\nNothing was changed/,
      );
      const after = await home.get(Deployment, web);
      assert.deepEqual([after.metadata.generation, after.spec], [before.metadata.generation, before.spec]);
      const logs = await fjord("logs", "deployment/api", "-n", NAMESPACE);
      assert.deepEqual([logs.code, logs.out], [1, ""]);
      assert.match(logs.err, /^error: the log could not be read: pod api-\S+, at site-2: site-2 does not answer/);
    } finally {
      await agent.start();
    }
    while (await isAway()) await new Promise((resolve) => setTimeout(resolve, 100));
  });

  it("asks again for a contract that the provider has ended, and keeps the wish whatever becomes of the command", async () => {
    const key = { name: AWAY };
    const before = await home.get(Peering, key);
    const contract = before.status?.contract ?? "";
    const provider = continuum.client(AWAY);
    try {
      await provider.patch(Contract, { name: contract }, "merge", { spec: { standing: "Ended" } });
    } finally {
      await provider.close();
    }
    const agreed = async () =>
      (await home.get(Peering, key)).status?.conditions?.find(({ type }) => type === "Agreed")?.reason;
    while ((await agreed()) !== "ContractEnded") await new Promise((resolve) => setTimeout(resolve, 100));
    const again = await fjord("peer", AWAY, "--timeout=120s");
    assert.deepEqual([again.code, again.out], [0, "peered with site-2: node site-2\n"], again.err);
    const after = await home.get(Peering, key);
    assert.equal(after.metadata.uid, before.metadata.uid);
    assert.deepEqual(after.spec.resources, before.spec.resources);
    assert.notEqual(after.status?.contract, contract);
    // Its pods are at the site again, under the new contract.
    const rolled = await fjord("move", "deployment/api", AWAY, "-n", NAMESPACE, "--timeout=120s");
    assert.equal(rolled.code, 0, rolled.err);
    for (;;) {
      const { status } = await home.get(Deployment, { name: "api", namespace: NAMESPACE });
      if (status?.readyReplicas === status?.replicas && (status?.replicas ?? 0) > 0) break;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  });

  it("says whose logs there are where it is asked for others", async () => {
    const wrong = await fjord("logs", "deployment/api", "-n", NAMESPACE, "-c", "nope");
    assert.match(wrong.err, /^error: deployment\/api has no container nope; it has main\n/);
    assert.match(
      (await fjord("logs", "-l=app=nope", "-n", NAMESPACE)).err,
      /^error: -l app=nope has no pods in namespace shop\n/,
    );
    assert.match((await fjord("logs")).err, /^error: nothing was named\nName a pod/);
  });

  it("brings a namespace home, and names what still asks for another site", async () => {
    const { code, out, err } = await fjord("unoffload", NAMESPACE);
    assert.deepEqual([code, out], [0, "namespace shop is home\n"], err);
    assert.match(
      err,
      /deployment\/api still asks for site-2 only, .*`fjord move deployment\/api anywhere -n shop` lets them run here\n$/,
    );
    assert.equal(err.includes("deployment/web"), false, err);
    const undone = await fjord("move", "deployment/api", "anywhere", "-n", NAMESPACE);
    assert.equal(undone.code, 0, undone.err);
    assert.ok((await nodesOf("api")).every((node) => node?.startsWith("site-1-")));
    assert.equal((await fjord("unoffload", NAMESPACE)).err, "", "nothing is left to tell");
  });

  it("keeps a consumer cordoned that ends its contract and asks anew", async () => {
    const there = (...args: string[]) => fjord(...args, `--kubeconfig=${continuum.site(AWAY).kubeconfig}`);
    const again = (...more: string[]) => fjord("peer", AWAY, "--cpu=4", "--memory=4Gi", "--pods=20", ...more);
    assert.equal((await there("cordon", HOME)).code, 0);
    const left = await fjord("unpeer", AWAY);
    assert.equal(left.code, 0, left.err);
    const refused = await again("--timeout=5s");
    assert.equal(refused.code, 1);
    assert.match(
      refused.err,
      /ConsumerRefused: the provider has closed its contracts with \S+, and gives no other until/,
    );
    const status = await there("status");
    assert.match(status.out, /^ +site-1 +Peer .*[a-z],Cordoned /m);
    assert.match(status.out, /^ +c-\S+ +Provider +site-1 +Ended +Cordoned /m);
    const opened = await there("uncordon", HOME);
    assert.match(opened.out, /^contract c-\S+ open\n$/, opened.err);
    assert.match(opened.err, /^it is over, and its consumer may have another one now\n$/);
    const peered = await again();
    assert.equal(peered.code, 0, peered.err);
    assert.doesNotMatch((await there("sites")).out, /Cordoned/);
  });

  it("tells the consumer when its provider is uninstalled by force, and unpeering then needs no force", async () => {
    const [contract] = (await home.list(Contract)).items.filter(({ status }) => status?.phase !== "Ended");
    assert.ok(contract);
    const { kubeconfig } = continuum.site(AWAY);
    const removed = await fjord("uninstall", "--force", `--kubeconfig=${kubeconfig}`);
    assert.deepEqual([removed.code, removed.out], [0, "Fjord uninstalled\n"], removed.err);
    assert.match(removed.err, new RegExp(`^ending contract ${contract.metadata.name} with a consumer$`, "m"));
    // One that is too busy to hear of it meanwhile hears for a minute that it is not known any more.
    const reasonOfEnd = async () => {
      const { status } = await home.get(Contract, { name: contract.metadata.name ?? "" });
      return status?.phase === "Ended" ? getCondition(status.conditions, "Ended")?.reason : undefined;
    };
    for (let tries = 0; tries < 600 && (await reasonOfEnd()) === undefined; tries++)
      await new Promise((resolve) => setTimeout(resolve, 200));
    assert.equal(await reasonOfEnd(), "Revoked", removed.err);
    const { code, out, err } = await fjord("unpeer", AWAY, "--forget");
    assert.deepEqual([code, out], [0, `peering ${AWAY} ended\nsite ${AWAY} forgotten\n`], err);
  });
});

function pod(name: string, requests: Record<string, string>, more: object = {}) {
  return {
    apiVersion: "v1" as const,
    kind: "Pod" as const,
    metadata: { name, namespace: NAMESPACE, labels: { app: name } },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [{ name: "main", image: "none", resources: { requests }, ...more }],
    },
  };
}

function deployment(name: string, replicas: number): object {
  const { metadata, spec } = pod(name, { cpu: "100m" });
  const { labels } = metadata;
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: NAMESPACE },
    spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  };
}
