import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { connect } from "node:tls";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { FJORD_VERSION } from "@fjord/agent";
import { CONSUMER_LABEL, ORIGIN_NAMESPACE_LABEL, Site as SiteKind, VIRTUAL_NODE } from "@fjord/api";
import { sleep, systemClock } from "@fjord/base";
import { siteIdOf } from "@fjord/continuum/identity";
import { Deployment } from "@fjord/kube";
import { fjord, fjordResult, PLENTY } from "../agents/index.ts";
import { buildRelease } from "../release/index.ts";
import { kubernetesSkip, testSubstrates } from "../testing.ts";
import { AcceptanceBed, type ConditionShape, eventually, type PodShape } from "./acceptance-bed.ts";
import { deployment, disruptionBudget, namespace, pod, statefulSet } from "./workloads.ts";

const HOME = "site-1";
const AWAY = "site-2";
const SLICE = { cpu: "16", memory: "64Gi", pods: "200" };
const skip = kubernetesSkip("1.36") || kubernetesSkip("1.35");

const [major = "", minor = ""] = FJORD_VERSION.split(".");
const NEXT_VERSION = `${major}.${Number(minor) + 1}.0`;
const root = fileURLToPath(new URL("../../../..", import.meta.url));
const PROGRAMS = join(root, ".fjord", `acceptance-${process.pid}`);

interface SiteStatus {
  readonly published: { readonly version: string };
  readonly conditions: readonly ConditionShape[];
}

interface NodeShape {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: { readonly unschedulable?: boolean; readonly taints?: readonly { key: string }[] };
  readonly status: {
    readonly allocatable: Readonly<Record<string, string>>;
    readonly conditions: readonly ConditionShape[];
  };
}

describe("two sites, one a minor of Kubernetes and of Fjord behind the other, each a node of the other", {
  skip,
  timeout: 600_000,
}, () => {
  let bed: AcceptanceBed;
  let before1: string[];
  let before2: string[];

  before(async () => {
    await mkdir(PROGRAMS, { recursive: true });
    const program = await newerAgent(PROGRAMS);
    bed = await AcceptanceBed.start(
      { sites: 2, simulatedNodes: 2, kubernetes: testSubstrates(["1.36", "1.35"]) },
      () => ({}),
      (site) => (site === HOME ? { program } : {}),
    );
    [before1, before2] = await Promise.all([bed.inventory(HOME), bed.inventory(AWAY)]);
    await bed.peer(HOME, AWAY, ...flagsOf(SLICE));
    await bed.peer(AWAY, HOME, ...flagsOf(SLICE));
  });

  after(async () => {
    await bed?.[Symbol.asyncDispose]();
    await rm(PROGRAMS, { recursive: true, force: true });
  });

  describe("after peering", () => {
    it("their agents are a minor apart, and of use to each other", async () => {
      for (const [site, other, version] of [
        [HOME, AWAY, FJORD_VERSION],
        [AWAY, HOME, NEXT_VERSION],
      ] as const) {
        const { status } = await bed.get<{ status: SiteStatus }>(site, "site", other);
        const condition = status.conditions.find(({ type }) => type === "Ready");
        assert.deepEqual(
          [status.published.version, condition?.status, condition?.reason],
          [version, "True", "Reachable"],
        );
      }
    });

    for (const [consumer, provider] of [
      [HOME, AWAY],
      [AWAY, HOME],
    ] as const) {
      it(`${provider} is a Ready node of ${consumer}, with the contract's amounts`, async () => {
        const found = await node(provider, consumer);
        assert.equal(ready(found).status, "True");
        const { cpu, memory, pods } = found.status.allocatable;
        assert.deepEqual({ cpu, memory, pods }, SLICE);
        assert.equal(found.metadata.labels[VIRTUAL_NODE], "true");
        assert.ok(found.spec.taints?.some(({ key }) => key === VIRTUAL_NODE));
      });
    }

    it("a Deployment crosses the border in both directions", async () => {
      await Promise.all(
        [
          [HOME, AWAY],
          [AWAY, HOME],
        ].map(async ([consumer = "", provider = ""]) => {
          await offloaded(consumer, "skew", "--pods=Remote");
          await bed.apply(consumer, deployment("web", { namespace: "skew", spread: true }));
          await bed.rolledOut(consumer, "skew", "deployment/web");
          const nodes = Object.values(await bed.placement(consumer, "skew"));
          assert.deepEqual(nodes, [provider, provider]);
          const there = Object.values(await bed.placement(provider, await bed.twin(consumer, "skew")));
          assert.equal(new Set(there).size, 2, "what is to be spread is spread there too");
        }),
      );
    });

    it("what an agent shows to others is a certificate in force, of the key that its id stands for", async () => {
      const { peerAddress } = bed.agent(AWAY);
      const certificate = await shownAt(peerAddress.host, peerAddress.port);
      assert.ok(Date.parse(certificate.validFrom) < Date.now() && Date.now() < Date.parse(certificate.validTo));
      const { status } = await bed.get<{ status: { id: string } }>(HOME, "site", AWAY);
      const { x = "" } = certificate.publicKey.export({ format: "jwk" });
      assert.equal(siteIdOf(Buffer.from(x, "base64url")), status.id);
    });
  });

  describe("an offloaded namespace", () => {
    it("keeps pods here, there or on both sides, as its owner wants", async () => {
      const expected = { Local: [false, false], Remote: [true, true], Both: [false, true] };
      await Promise.all(
        Object.entries(expected).map(async ([where, remote]) => {
          const name = `pods-${where.toLowerCase()}`;
          await offloaded(HOME, name, `--pods=${where}`);
          const options = { namespace: name, replicas: where === "Both" ? 3 : 2, spread: where === "Both" };
          await bed.apply(HOME, deployment("web", options));
          await bed.rolledOut(HOME, name, "deployment/web");
          const nodes = new Set(Object.values(await bed.placement(HOME, name)));
          assert.equal(nodes.has(AWAY), remote.includes(true), where);
          assert.equal(
            [...nodes].some((each) => each !== AWAY),
            remote.includes(false),
            where,
          );
        }),
      );
    });

    it("has a twin with its pods; unoffloading removes it and the pods come home", async () => {
      await offloaded(HOME, "twinned");
      await bed.apply(HOME, deployment("web", { namespace: "twinned", replicas: 3, spread: true }));
      await bed.rolledOut(HOME, "twinned", "deployment/web");
      const twin = await bed.twin(HOME, "twinned");
      const { metadata } = await bed.get<NodeShape>(AWAY, "namespace", twin);
      assert.equal(metadata.labels[ORIGIN_NAMESPACE_LABEL], "twinned");
      assert.match(metadata.labels[CONSUMER_LABEL] ?? "", /^[a-z2-7]{26}$/);
      await fjord(bed.site(HOME), "unoffload", "twinned");
      await eventually("the twin is gone", async () => !(await bed.inventory(AWAY)).includes(`namespace/${twin}`));
      await eventually("all pods are home", async () => {
        const nodes = Object.values(await bed.placement(HOME, "twinned"));
        return nodes.length === 3 && nodes.every((each) => each !== AWAY && each !== "");
      });
      await bed.rolledOut(HOME, "twinned", "deployment/web");
    });

    it("never takes over a namespace that the other site has of its own", async () => {
      await bed.apply(AWAY, namespace("mine"), { ...configMap("mine", "precious") });
      await bed.apply(HOME, namespace("mine"));
      await fjord(bed.site(HOME), "offload", "mine", "--naming=Same", "--no-wait");
      await eventually("the other site has answered", async () => {
        const reasons = "--output=jsonpath={.status.sites[*].conditions[*].reason}";
        return /NameTaken/.test(await bed.kubectl(HOME, "get", "offloading", "offloading", "-n=mine", reasons));
      });
      const result = await fjordResult(bed.site(HOME), "offload", "mine", "--naming=Same", "--timeout=2s");
      assert.equal(result.exitCode, 1);
      assert.match(result.stderr, /site-2.*NameTaken/);
      assert.match(await bed.kubectl(AWAY, "get", "configmap", "precious", "-n=mine", "-o=name"), /precious/);
      await fjord(bed.site(HOME), "unoffload", "mine");
      assert.match(await bed.kubectl(AWAY, "get", "configmap", "precious", "-n=mine", "-o=name"), /precious/);
    });

    it("extends only to sites whose labels it selects", async () => {
      await using client = bed.client(AWAY);
      await client.patch(SiteKind, { name: AWAY }, "merge", { spec: { properties: { accelerator: "none" } } });
      const label = "property.fjord.dev/accelerator";
      await eventually("the property is a label", async () => (await node(AWAY)).metadata.labels[label] === "none");
      await offloaded(HOME, "chosen", `--selector=${label}=none`);
      assert.notEqual(await bed.twin(HOME, "chosen"), "");
      await bed.apply(HOME, namespace("unchosen"));
      await fjord(bed.site(HOME), "offload", "unchosen", `--selector=${label}=gpu`, "--no-wait");
      await eventually("nobody is eligible", async () => {
        const { status } = await bed.get<{ status: { conditions: ConditionShape[] } }>(
          HOME,
          "offloading",
          "offloading",
          "-n=unchosen",
        );
        return status.conditions.some(({ reason }) => reason === "NoSiteEligible");
      });
    });
  });

  describe("workloads", () => {
    it("a rolling update leaves the old version only when the new one is ready", async () => {
      await offloaded(HOME, "rolling", "--pods=Remote");
      await bed.apply(HOME, deployment("web", { namespace: "rolling", version: "1", replicas: 3 }));
      await bed.rolledOut(HOME, "rolling", "deployment/web");
      const old = Object.keys(await bed.placement(HOME, "rolling"));
      // A machine that stands still for seconds is no loss of the site here, which would have its pods count for nothing.
      await patience("30s");
      const available = await availableReplicas("rolling");
      await bed.apply(HOME, deployment("web", { namespace: "rolling", version: "2", replicas: 3 }));
      await bed.rolledOut(HOME, "rolling", "deployment/web");
      const seen = await available.seen();
      await patience("2s");
      assert.ok(seen.length > 1 && Math.min(...seen) >= 3, `never less than three: ${seen.join(" ")}`);
      const twin = await bed.twin(HOME, "rolling");
      await eventually("only the new version is left, on both sides", async () => {
        const [here, there] = await Promise.all([bed.placement(HOME, "rolling"), bed.placement(AWAY, twin)]);
        const names = [...Object.keys(here), ...Object.keys(there)];
        return names.length === 6 && !names.some((name) => old.includes(name));
      });
    });

    it("a StatefulSet's pod comes back under its name, never twice", async () => {
      await offloaded(HOME, "stateful", "--pods=Remote");
      await bed.apply(HOME, statefulSet("db", { namespace: "stateful" }));
      await bed.rolledOut(HOME, "stateful", "statefulset/db");
      const first = await bed.get<PodShape>(HOME, "pod", "db-0", "-n=stateful");
      await bed.kubectl(HOME, "delete", "pod", "db-0", "-n=stateful");
      await bed.rolledOut(HOME, "stateful", "statefulset/db");
      const second = await bed.get<PodShape>(HOME, "pod", "db-0", "-n=stateful");
      assert.notEqual(first.metadata.uid, second.metadata.uid);
      const twin = await bed.twin(HOME, "stateful");
      assert.deepEqual(Object.keys(await bed.placement(AWAY, twin)).sort(), ["db-0", "db-1"]);
    });

    it("a disruption budget holds for offloaded pods", async () => {
      await offloaded(HOME, "budget", "--pods=Remote");
      await bed.apply(HOME, deployment("web", { namespace: "budget" }));
      await bed.apply(HOME, disruptionBudget("web", { namespace: "budget", minAvailable: 2 }));
      await bed.rolledOut(HOME, "budget", "deployment/web");
      const [name = ""] = Object.keys(await bed.placement(HOME, "budget"));
      const eviction = JSON.stringify({
        apiVersion: "policy/v1",
        kind: "Eviction",
        metadata: { name, namespace: "budget" },
      });
      const path = `/api/v1/namespaces/budget/pods/${name}/eviction`;
      await assert.rejects(
        bed.kubectlOf("1.36", HOME, ["create", "--raw", path, "-f", "-"], eviction),
        /disruption budget|Cannot evict/,
      );
    });
  });

  describe("contracts", () => {
    it("several with one site give several nodes, which grow and shrink by either side, and end one by one", async () => {
      const amounts = ["--cpu=4", "--memory=8Gi", "--pods=10"];
      await fjord(bed.site(HOME), "peer", AWAY, "--name=second", ...amounts);
      await offloaded(HOME, "twice", "--pods=Remote");
      const [one, two] = [
        pod("one", { namespace: "twice", nodeName: AWAY }),
        pod("two", { namespace: "twice", nodeName: "second" }),
      ];
      await bed.apply(HOME, one, two);
      await bed.kubectl(HOME, "-n=twice", "wait", "--for=condition=Ready", "pod/one", "pod/two", "--timeout=150s");
      const has = (cpu: string) =>
        eventually(`the node has ${cpu}`, async () => (await node("second")).status.allocatable.cpu === cpu);
      for (const cpu of ["6", "3"]) {
        await fjord(bed.site(HOME), "peer", AWAY, "--name=second", `--cpu=${cpu}`);
        await has(cpu);
      }
      for (const [limit, cpu] of [
        [{ cpu: "2" }, "2"],
        [null, "3"],
      ] as const) {
        const patch = JSON.stringify({ spec: { limit } });
        const contract = await contractOf("second");
        await bed.kubectl(AWAY, "patch", "contract", contract, "--type=merge", `--patch=${patch}`);
        await has(cpu);
      }
      await fjord(bed.site(HOME), "unpeer", "second");
      await assert.rejects(bed.kubectl(HOME, "get", "node", "second"), /NotFound/);
      assert.equal((await bed.get<PodShape>(HOME, "pod", "one", "-n=twice")).status.phase, "Running");
    });

    it("hold pods to what they must state", async (t) => {
      t.after(async () => {
        await bed.share(AWAY, { resources: PLENTY, enforcement: "None" });
        for (const name of ["strict", "stated"]) await fjord(bed.site(HOME), "unpeer", name);
      });
      await bed.share(AWAY, { resources: PLENTY, enforcement: "RequestsRequired" });
      await fjord(bed.site(HOME), "peer", AWAY, "--name=stated", "--cpu=4", "--memory=8Gi", "--pods=10");
      await bed.share(AWAY, { resources: PLENTY, enforcement: "LimitsEqualRequests" });
      await fjord(bed.site(HOME), "peer", AWAY, "--name=strict", "--cpu=4", "--memory=8Gi", "--pods=10");
      await offloaded(HOME, "strict", "--pods=Remote");
      const amounts = { cpu: "100m", memory: "64Mi" };
      const says = (node: string) => {
        const common = { namespace: "strict", nodeName: node };
        return [
          pod(`${node}-nothing`, common),
          pod(`${node}-requests`, { ...common, requests: amounts }),
          pod(`${node}-all`, { ...common, requests: amounts, limits: amounts }),
        ];
      };
      await bed.apply(HOME, pod("free", { namespace: "strict", nodeName: AWAY }), ...says("stated"), ...says("strict"));
      const running = ["free", "stated-requests", "stated-all", "strict-all"].map((name) => `pod/${name}`);
      await bed.kubectl(HOME, "-n=strict", "wait", "--for=condition=Ready", ...running, "--timeout=150s");
      for (const name of ["stated-nothing", "strict-nothing", "strict-requests"]) {
        await eventually(`${name} is told why it does not run`, async () => {
          const only = `--field-selector=involvedObject.name=${name}`;
          const events = await bed.kubectl(HOME, "-n=strict", "get", "events", only);
          const { status } = await bed.get<PodShape>(HOME, "pod", name, "-n=strict");
          return /request|limit/.test(events + JSON.stringify(status)) && status.phase !== "Running";
        });
      }
    });

    for (const side of [HOME, AWAY] as const) {
      it(`cordoned, drained and opened again at ${side}`, async () => {
        const space = `drained-${side}`;
        await offloaded(HOME, space);
        await bed.apply(HOME, deployment("web", { namespace: space, replicas: 3, spread: true }));
        await bed.rolledOut(HOME, space, "deployment/web");
        const other = side === HOME ? AWAY : HOME;
        const contract = await contractOf(AWAY);
        assert.notEqual(other, side);

        await fjord(bed.site(side), "cordon", contract);
        await eventually("the node takes no pods", async () => (await node(AWAY)).spec.unschedulable === true);
        await bed.apply(HOME, pod("late", { namespace: space, nodeName: AWAY }));
        assert.ok(Object.values(await bed.placement(HOME, space)).includes(AWAY), "what runs stays");
        if (side === AWAY) {
          const more = await fjordResult(bed.site(HOME), "peer", AWAY, "--name=more", "--cpu=1", "--timeout=30s");
          assert.equal(more.exitCode, 1);
          assert.match(more.stderr, /ConsumerRefused: the provider has closed its contracts/);
          await fjord(bed.site(HOME), "unpeer", "more");
        }

        // Others of its pods have a budget that lets none of them go.
        await fjord(bed.site(side), "drain", contract, "--no-wait");
        await eventually("its pods have come home", async () => {
          const { late, ...others } = await bed.placement(HOME, space);
          const nodes = Object.values(others);
          return late === "" && nodes.length === 3 && nodes.every((each) => each !== AWAY && each !== "");
        });
        await bed.rolledOut(HOME, space, "deployment/web");

        await fjord(bed.site(side), "uncordon", contract);
        await bed.kubectl(HOME, `-n=${space}`, "wait", "--for=condition=Ready", "pod/late", "--timeout=150s");
        assert.equal((await bed.placement(HOME, space)).late, AWAY);
      });
    }
  });

  describe("when things break", () => {
    it("a glitch moves nothing", async () => {
      await patience("3s");
      const glitch = async () => {
        const seen = ready(await node(AWAY));
        await bed.bed.cut(HOME, AWAY);
        await sleep(systemClock, 500);
        await bed.bed.heal(HOME, AWAY);
        await sleep(systemClock, 3_000);
        const now = ready(await node(AWAY));
        await eventually("the node is Ready", async () => ready(await node(AWAY)).status === "True");
        return isDeepStrictEqual(transition(now), transition(seen)) ? undefined : JSON.stringify([seen, now]);
      };
      // A machine that does other work as well makes every glitch longer: what moves nothing once moves nothing.
      const moved = [await glitch()];
      while (moved.length < 3 && moved.at(-1) !== undefined) moved.push(await glitch());
      assert.equal(moved.at(-1), undefined, moved.join("; again: "));
      await patience("2s");
    });

    it("a site that is cut off is NotReady within 3 s, and Ready as soon as it is back", async () => {
      await offloaded(HOME, "cut", "--pods=Remote");
      await bed.apply(HOME, deployment("web", { namespace: "cut" }));
      await bed.rolledOut(HOME, "cut", "deployment/web");
      const twin = await bed.twin(HOME, "cut");
      const guests = await bed.placement(AWAY, twin);

      const cutAndHealed = async (name: string) => {
        const cutAt = Date.now();
        await bed.bed.cut(HOME, AWAY);
        const lost = await eventually("the node is not Ready", async () => {
          const condition = ready(await node(AWAY));
          return condition.status !== "True" && condition;
        });
        const noticed = Date.now() - cutAt;
        assert.ok(lost.reason && lost.message, "it says why");
        await bed.apply(HOME, pod(name, { namespace: "cut", nodeName: AWAY }));

        const healedAt = Date.now();
        await bed.bed.heal(HOME, AWAY);
        await eventually("the node is Ready", async () => ready(await node(AWAY)).status === "True");
        const returned = Date.now() - healedAt;
        await bed.kubectl(HOME, "-n=cut", "wait", "--for=condition=Ready", `pod/${name}`, "--timeout=150s");
        return { noticed, returned };
      };
      const times = [await cutAndHealed("meanwhile")];
      // A machine that does other work as well adds to every time, and kubectl's own is in them.
      const isSoon = ({ noticed, returned }: (typeof times)[number]) => noticed < 4_000 && returned < 4_000;
      for (let i = 1; i < 3 && !times.some(isSoon); i++) {
        times.push(await cutAndHealed("again"));
        await bed.kubectl(HOME, "-n=cut", "delete", "pod", "again", "--timeout=150s");
      }
      const { meanwhile, ...same } = await bed.placement(AWAY, twin);
      assert.ok(meanwhile);
      assert.deepEqual(same, guests, "the guests never noticed");
      assert.ok(times.some(isSoon), `milliseconds until it was noticed: ${JSON.stringify(times)}`);
    });

    it("the loss of an API server on either side is survived", async () => {
      await offloaded(HOME, "survivor", "--pods=Remote");
      for (const [index, site] of [AWAY, HOME].entries()) {
        const apiServer = bed.site(site).process("kube-apiserver");
        await apiServer.kill();
        await sleep(systemClock, 1_000);
        await apiServer.start();
        await bed.site(site).ready();
        const name = `after-${index}`;
        // Kubernetes' own scheduler asks again only after up to a minute (client-go's reflectors wait 30 s and as much
        // again by chance after some failures): a pod that Fjord has no part in tells when it is back.
        await eventually("a pod can be made", () => bed.apply(site, pod(name, { namespace: "default" })));
        await bed.kubectl(site, "-n=default", "wait", "--for=condition=Ready", `pod/${name}`, "--timeout=150s");
        await eventually("the node is Ready", async () => ready(await node(AWAY)).status === "True");
        await bed.apply(HOME, pod(name, { namespace: "survivor" }));
        await bed.kubectl(HOME, "-n=survivor", "wait", "--for=condition=Ready", `pod/${name}`, "--timeout=150s");
        await bed.kubectl(site, "-n=default", "delete", "pod", name, "--wait=false");
      }
    });
  });

  it("unpeering leaves nothing behind, on either side", async () => {
    const others = { [HOME]: ["twinned", "mine"], [AWAY]: ["mine"] };
    // Both owners at once: neither knows of the other, and each ends what it has of the other's.
    await Promise.all(
      (
        [
          [HOME, AWAY],
          [AWAY, HOME],
        ] as const
      ).map(async ([site, other]) => {
        const { items } = await bed.get<{ items: { metadata: { namespace: string } }[] }>(site, "offloadings", "-A");
        await fjord(bed.site(site), "unpeer", other);
        const names = [...items.map(({ metadata }) => metadata.namespace), ...others[site]];
        await bed.kubectl(site, "delete", "namespaces", ...names, "--wait=false");
      }),
    );
    for (const [site, was] of [
      [HOME, before1],
      [AWAY, before2],
    ] as const) {
      await eventually(`nothing is left at ${site}`, async () => {
        const more = (await bed.inventory(site)).filter((each) => !was.includes(each));
        if (more.length > 0) throw new Error(more.join(" "));
        return true;
      });
    }
  });

  async function offloaded(site: string, name: string, ...flags: readonly string[]): Promise<void> {
    await bed.apply(site, namespace(name));
    await fjord(bed.site(site), "offload", name, ...flags);
  }

  function node(name: string, site = HOME): Promise<NodeShape> {
    return bed.get<NodeShape>(site, "node", name);
  }

  function patience(unreachableAfter: string): Promise<string> {
    const patch = JSON.stringify({ spec: { virtualNode: { unreachableAfter } } });
    return bed.kubectl(HOME, "patch", "peering", AWAY, "--type=merge", `--patch=${patch}`);
  }

  /** How many pods of the Deployments of a namespace are available, at every change from now on. */
  async function availableReplicas(inNamespace: string) {
    const client = bed.client(HOME);
    const stop = new AbortController();
    const numbers: number[] = [];
    const { metadata } = await client.list(Deployment, { namespace: inNamespace });
    const { resourceVersion = "" } = metadata;
    const watching = (async () => {
      const options = { namespace: inNamespace, resourceVersion, signal: stop.signal };
      for await (const { type, object } of client.watch(Deployment, options))
        if (type !== "BOOKMARK") numbers.push(object.status?.availableReplicas ?? 0);
    })().catch((error: unknown) => {
      if (!stop.signal.aborted) throw error;
    });
    return {
      async seen(): Promise<number[]> {
        stop.abort();
        await watching;
        await client.close();
        return numbers;
      },
    };
  }

  async function contractOf(peering: string): Promise<string> {
    return bed.kubectl(HOME, "get", "peering", peering, "--output=jsonpath={.status.contract}");
  }
});

function ready({ status }: NodeShape): ConditionShape {
  const found = status.conditions.find(({ type }) => type === "Ready");
  assert.ok(found, "a node has a Ready condition");
  return found;
}

function flagsOf(amounts: Readonly<Record<string, string>>): string[] {
  return Object.entries(amounts).map(([name, amount]) => `--${name}=${amount}`);
}

function transition({ status, lastTransitionTime }: ConditionShape) {
  return { status, lastTransitionTime };
}

function configMap(inNamespace: string, name: string): object {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: inNamespace } };
}

/** What a server shows to whoever asks, before it wants to know who that is. */
function shownAt(host: string, port: number): Promise<X509Certificate> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, rejectUnauthorized: false, minVersion: "TLSv1.3" }, () => {
      const { raw } = socket.getPeerCertificate();
      socket.destroy();
      resolve(new X509Certificate(raw));
    });
    socket.once("error", reject);
  });
}

/** The agent as it is shipped, of the next minor by its own word. */
async function newerAgent(directory: string): Promise<string> {
  await buildRelease(root, directory, ["fjord-agent"]);
  // A bundle has no white space around it.
  const own = new RegExp(`(FJORD_VERSION\\s*=\\s*)"${RegExp.escape(FJORD_VERSION)}"`);
  let changed = 0;
  for (const name of await readdir(directory)) {
    const text = await readFile(join(directory, name), "utf8");
    if (!own.test(text)) continue;
    await writeFile(join(directory, name), text.replace(own, `$1"${NEXT_VERSION}"`));
    changed++;
  }
  assert.equal(changed, 1, "one place says which version it is");
  return join(directory, "fjord-agent.mjs");
}
