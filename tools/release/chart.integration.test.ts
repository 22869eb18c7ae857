import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { AddressPlan, Link, newObject, Site } from "@fjord/api";
import { buildPage } from "@fjord/dashboard";
import {
  ClusterRole,
  ClusterRoleBinding,
  CustomResourceDefinition,
  DaemonSet,
  Deployment,
  ifNotFound,
  KubeClient,
  Namespace,
  Pod,
  RoleBinding,
  Secret,
  ServiceAccount,
} from "@fjord/kube";
import { type Bed, findBinaries, type RealNode } from "@fjord/testbed";
import { fjord, fjordResult, writeAccountKubeconfig } from "@fjord/testbed/agents";
import { wireguardKeys } from "@fjord/testbed/namespaces";
import { buildRelease } from "@fjord/testbed/release";
import { helmSkip, networkSkip, realNodesSkip, startTestBed, testNodes } from "@fjord/testbed/testing";
import { releaseImage } from "./test-image.ts";

const root = dirname(dirname(import.meta.dirname));
const run = promisify(execFile);
const NAMESPACE = "fjord-system";
const WAIT = ["--wait", "--timeout=150s"];
/** A site that is not there. */
const PEER = "b".repeat(26);
const ASKER = { name: "asker", namespace: "default" };
const IMAGE = "fjord.test/fjord:built-here";

/** It takes most of a minute, so it is done where it is asked for; what Helm renders is compared each time. */
const unasked = process.env.FJORD_TEST_CHART === "1" ? false : "FJORD_TEST_CHART=1 installs the chart on a real node";
const skip = unasked || realNodesSkip() || networkSkip() || helmSkip();

describe("the chart on a real node", { skip, timeout: 600_000 }, () => {
  let bed: Bed;
  let client: KubeClient;
  let folder: string;
  let untouched: string[];
  /** What the node has of its own that is called as if it were Fjord's. */
  let bare: string[];
  let node: RealNode;

  before(async () => {
    mkdirSync(join(root, ".fjord"), { recursive: true });
    folder = mkdtempSync(join(root, ".fjord", "chart-"));
    const provider = testNodes();
    [bed] = await Promise.all([
      startTestBed({ sites: 1, nodes: { count: 1, provider } }),
      buildRelease(root, folder, ["fjord", "fjord-agent"]),
      buildPage(join(folder, "page")),
    ]);
    const site = bed.site("site-1");
    client = new KubeClient(site.config, { closeGraceMs: 500 });
    await provider.loadImage(site, releaseImage(IMAGE, root, folder));
    untouched = await inventory(client);
    [node] = provider.nodes(site) as [RealNode];
    bare = await linesOf(node);
  });

  after(async () => {
    await client?.close();
    await bed?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const helm = async (...args: readonly string[]) => {
    const program = findBinaries({ env: process.env, sets: ["helm"] }).binaries.path("helm");
    const { kubeconfig } = bed.site("site-1");
    const cluster = [`--kubeconfig=${kubeconfig}`, `--namespace=${NAMESPACE}`];
    const { stdout } = await run(program, [...args, ...cluster]).catch(async (error: unknown) => {
      const pods = (await client.list(Pod, { namespace: NAMESPACE })).items.map(({ metadata, status }) => {
        return `${metadata.name}: ${JSON.stringify(status?.containerStatuses?.map(({ state }) => state))}`;
      });
      throw new Error(`Helm failed; the pods: ${pods.join(", ")}`, { cause: error });
    });
    return stdout;
  };
  const networkOf = async (at: RealNode) => (await linesOf(at)).filter((line) => !bare.includes(line));
  const hasLinks = async () => (await networkOf(node)).some((line) => line.includes("fjord0: "));
  const allAgents = async () =>
    (await client.list(Pod, { namespace: NAMESPACE, labelSelector: "app.kubernetes.io/component=agent" })).items;
  const agents = async () => (await allAgents()).filter(({ metadata }) => metadata.deletionTimestamp === undefined);

  it("starts an agent that introduces the site, without privileges", async () => {
    const image = ["--set=image.repository=fjord.test/fjord", "--set=image.tag=built-here"];
    const values = ["--set=siteName=harbor", "--set=tier=cloud", ...image];
    const said = await helm("install", "fjord", join(root, "charts/fjord"), "--create-namespace", ...values, ...WAIT);
    assert.match(said, /The agent of this site starts in namespace fjord-system/);
    const [agent] = await agents();
    assert.equal(agent?.spec?.containers[0]?.image, IMAGE);
    const { metadata, status } = await client.get(Site, { name: "harbor" });
    assert.deepEqual([metadata.name, status?.role, status?.published?.tier], ["harbor", "Self", "cloud"]);
    assert.match(await fjord(bed.site("site-1"), "sites"), /^harbor +Self +cloud /m);
    const key = { namespace: NAMESPACE, name: agent?.metadata.name ?? "" };
    const out = new PassThrough();
    const command = ["sh", "-c", "id -u; touch /opt/fjord/x 2>&1"];
    const { exitCode } = await client.exec(key, { command, stdout: out });
    const told = await text(out.end());
    assert.notEqual(exitCode, 0);
    assert.match(told, /^65532\n.*Read-only file system/s);
  });

  it("is ready by its probes, and tells metrics through the API", async () => {
    const [agent] = await agents();
    const path = `/api/v1/namespaces/${NAMESPACE}/pods/${agent?.metadata.name}:7445/proxy`;
    const { body } = await client.raw("GET", `${path}/metrics`);
    assert.match(
      body.toString("utf8"),
      /^fjord_site_info\{site="harbor",role="Self",tier="cloud",version="\d\S*"\} 1$/m,
    );
    assert.match((await client.raw("GET", `${path}/readyz`)).body.toString("utf8"), /ok/);
  });

  it("lends its page to `fjord dashboard`", async () => {
    const cli = join(root, "packages/cli/src/cli.ts");
    const child = spawn(process.execPath, [cli, "dashboard", "--no-browser", "-q"], {
      env: { ...process.env, KUBECONFIG: bed.site("site-1").kubeconfig },
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      const [link = ""] = await firstLines(child.stdout);
      const { origin, hash } = new URL(link);
      const headers = { origin, "content-type": "application/json" };
      const body = JSON.stringify({ code: hash.slice("#login=".length) });
      const session = await fetch(`${origin}/api/session`, { method: "POST", headers, body });
      assert.equal(session.status, 200, await session.clone().text());
      const cookie = session.headers.get("set-cookie")?.split(";")[0] ?? "";
      const snapshot = await fetch(`${origin}/api/snapshot`, { headers: { cookie } });
      assert.match(await snapshot.text(), /"harbor"/);
    } finally {
      child.kill("SIGINT");
      await new Promise((resolve) => child.once("exit", resolve));
    }
  });

  it("has gateways where these are asked for, with no more privileges than they need", async () => {
    await helm("upgrade", "fjord", join(root, "charts/fjord"), "--reuse-values", "--set=gateway.enabled=true", ...WAIT);
    const key = { namespace: NAMESPACE, name: "fjord-gateway" };
    await until("the gateway is ready", async () => (await client.get(DaemonSet, key)).status?.numberReady === 1);
    assert.deepEqual(await networkOf(node), [], "a site that wants no links has none");
    await client.create(Secret, linkKey());
    await client.patch(Site, { name: "harbor" }, "merge", {
      spec: { network: { podRanges: bed.site("site-1").layout.podCidrs } },
    });
    await until("the node has links", hasLinks);
    assert.ok((await networkOf(node)).includes("table inet fjord"));
    await until("the site says who carries its links", async () => {
      return (await client.get(Site, { name: "harbor" })).status?.gateway?.node === node.name;
    });
    const [gateway] = (
      await client.list(Pod, { namespace: NAMESPACE, labelSelector: "app.kubernetes.io/component=gateway" })
    ).items;
    const out = new PassThrough();
    // NET_ADMIN is the twelfth.
    await client.exec(
      { namespace: NAMESPACE, name: gateway?.metadata.name ?? "" },
      { command: ["sh", "-c", "grep CapEff /proc/1/status; touch /x 2>&1"], stdout: out },
    );
    assert.match(await text(out.end()), /^CapEff:\t0000000000001000\n.*Read-only file system/s);
  });

  it("shows packets of a link to who may see them, through the pod of its gateway", async () => {
    // What it does not know of, the agent would take away.
    const scale = (replicas: number) =>
      client.patch(Deployment, { namespace: NAMESPACE, name: "fjord-agent" }, "merge", { spec: { replicas } });
    await scale(0);
    await until("the agent has gone", async () => (await allAgents()).length === 0);
    const [pods] = bed.site("site-1").layout.podCidrs as [string];
    const naming = [{ range: pods, called: "240.0.0.0/16" }];
    const plan = { site: PEER, own: naming, peer: naming };
    const groups = [{ name: "shop", local: [pods], remote: ["240.0.0.0/16"] }];
    // Nobody is there: packets leave by the link, and nothing comes back.
    const endpoints = [`${node.plan.address}:51999`];
    const link = { site: PEER, publicKey: wireguardKeys().public, endpoints, groups };
    await client.create(AddressPlan, newObject(AddressPlan, { metadata: { name: PEER }, spec: plan }));
    await client.create(Link, newObject(Link, { metadata: { name: PEER }, spec: link }));
    await client.create(Pod, askerOf("240.0.0.9"));
    const ada = { namespace: NAMESPACE, name: "ada" };
    await client.create(ServiceAccount, { apiVersion: "v1", kind: "ServiceAccount", metadata: ada });
    const kubeconfig = join(folder, "ada.kubeconfig");
    await writeAccountKubeconfig(client, bed.site("site-1"), ada.name, kubeconfig);
    const bound = bindings(ada);
    const capture = () =>
      fjordResult({ kubeconfig }, "network", "capture", PEER, "--protocol=udp", "--packets=3", "--duration=30s");
    try {
      const refused = await capture();
      assert.notEqual(refused.exitCode, 0);
      assert.match(refused.stderr, /may not|forbidden/);
      await client.create(ClusterRoleBinding, bound.cluster);
      await client.create(RoleBinding, bound.namespaced);
      await until("the pod runs", async () => (await client.get(Pod, ASKER)).status?.podIP !== undefined);
      const { podIP = "" } = (await client.get(Pod, ASKER)).status ?? {};
      await until("the link is applied", async () => {
        return (
          (await client.get(Link, { name: PEER })).status?.conditions?.some(({ type }) => type === "Ready") ?? false
        );
      });
      const { exitCode, stdout, stderr } = await capture();
      assert.equal(exitCode, 0, stderr);
      assert.match(stderr, new RegExp(`as node ${node.name} sees them`));
      assert.match(stderr, /^3 packets, .* it has ended by --packets 3$/m);
      assert.match(stdout, new RegExp(`out IP ${podIP}\\.\\d+ > 240\\.0\\.0\\.9\\.7000: UDP, length 22`));
      await until("its rules are gone", async () => {
        return !(await node.run(["nft", "list", "tables"], "look at the firewall")).includes("fjord-capture");
      });
    } finally {
      await client.delete(Pod, ASKER).catch(ifNotFound);
      await client.delete(Link, { name: PEER }).catch(ifNotFound);
      await client.delete(AddressPlan, { name: PEER }).catch(ifNotFound);
      await client.delete(ClusterRoleBinding, { name: "ada-captures" }).catch(ifNotFound);
      await client.delete(RoleBinding, { ...ada, name: "ada-captures" }).catch(ifNotFound);
      await client.delete(ServiceAccount, ada);
      await scale(1);
    }
    await until("the agent is there again", async () => {
      return (await agents()).some(({ status }) =>
        status?.conditions?.some((each) => each.type === "Ready" && each.status === "True"),
      );
    });
  });

  it("takes gateways away with all that they have made on nodes, where they are no longer asked for", async () => {
    const off = "--set=gateway.enabled=false";
    await helm("upgrade", "fjord", join(root, "charts/fjord"), "--reuse-values", off, ...WAIT);
    await until("nothing is left on the node", async () => (await networkOf(node)).length === 0);
    const on = "--set=gateway.enabled=true";
    await helm("upgrade", "fjord", join(root, "charts/fjord"), "--reuse-values", on, ...WAIT);
    await until("the node has links", hasLinks);
  });

  it("is upgraded by Helm, and removed by `fjord uninstall` without a trace", async () => {
    await helm("upgrade", "fjord", join(root, "charts/fjord"), "--reuse-values", "--set=tier=edge", ...WAIT);
    // The agent that was there before leads until it has gone.
    const tier = async () => (await client.get(Site, { name: "harbor" })).status?.published?.tier;
    while ((await tier()) !== "edge") await sleep(200);
    assert.equal(await fjord(bed.site("site-1"), "uninstall"), "Fjord uninstalled\n");
    assert.deepEqual(await inventory(client), untouched);
    assert.deepEqual(await networkOf(node), []);
  });
});

/** Asks an address for a name over and over, by 22 bytes each time. */
function askerOf(address: string): Pod {
  const command = ["sh", "-c", `while :; do timeout 1 nslookup seen ${address}:7000; done`];
  const containers = [{ name: "main", image: "busybox:1", command }];
  const spec = { terminationGracePeriodSeconds: 0, containers };
  return { apiVersion: "v1", kind: "Pod", metadata: ASKER, spec } as Pod;
}

/** What documentation has an administrator bind for somebody who is to see packets. */
function bindings(account: { readonly namespace: string; readonly name: string }): {
  cluster: ClusterRoleBinding;
  namespaced: RoleBinding;
} {
  const subjects = [{ kind: "ServiceAccount", ...account }];
  const apiGroup = "rbac.authorization.k8s.io" as const;
  const role = (kind: string) => ({ apiGroup, kind, name: "fjord-capture" });
  const metadata = { name: "ada-captures" };
  const apiVersion = `${apiGroup}/v1` as const;
  return {
    cluster: { apiVersion, kind: "ClusterRoleBinding", metadata, roleRef: role("ClusterRole"), subjects },
    namespaced: {
      apiVersion,
      kind: "RoleBinding",
      metadata: { ...metadata, namespace: account.namespace },
      roleRef: role("Role"),
      subjects,
    },
  };
}

/** As the agent makes it once a peer is to have a link. */
function linkKey(): Secret {
  const { private: privateKey, public: publicKey } = wireguardKeys();
  const metadata = { name: "fjord-link", namespace: NAMESPACE };
  return { apiVersion: "v1", kind: "Secret", metadata, stringData: { privateKey, publicKey } };
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 90_000; !(await holds()); await sleep(200))
    assert.ok(Date.now() < end, `not within 90 seconds: ${what}`);
}

async function firstLines(stream: NodeJS.ReadableStream): Promise<string[]> {
  for await (const line of createInterface(stream)) return [line];
  return [];
}

/** What a node's network has of Fjord: interfaces, tables of the firewall, rules and routes. */
async function linesOf(node: RealNode): Promise<string[]> {
  const looks = [
    ["ip", "-oneline", "link"],
    ["nft", "list", "tables"],
    ["ip", "rule"],
    ["ip", "-6", "rule"],
    ["ip", "route", "show", "table", "all"],
  ];
  const lines = await Promise.all(looks.map((look) => node.run(look, "look at the network")));
  return lines.flatMap((each) => each.split("\n")).filter((line) => /inet fjord|fjord[0-9x]|744[34]/.test(line));
}

async function inventory(client: KubeClient): Promise<string[]> {
  const lists = await Promise.all([
    client.list(CustomResourceDefinition),
    client.list(ClusterRole),
    client.list(Namespace),
  ]);
  return lists.flatMap(({ items }) => items.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toSorted();
}
