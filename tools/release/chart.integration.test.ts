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
import { Site } from "@fjord/api";
import { buildPage } from "@fjord/dashboard";
import { ClusterRole, CustomResourceDefinition, DaemonSet, KubeClient, Namespace, Pod, Secret } from "@fjord/kube";
import { type Bed, findBinaries, type RealNode } from "@fjord/testbed";
import { fjord } from "@fjord/testbed/agents";
import { wireguardKeys } from "@fjord/testbed/namespaces";
import { buildRelease } from "@fjord/testbed/release";
import { helmSkip, networkSkip, realNodesSkip, startTestBed, testNodes } from "@fjord/testbed/testing";
import { releaseImage } from "./test-image.ts";

const root = dirname(dirname(import.meta.dirname));
const run = promisify(execFile);
const NAMESPACE = "fjord-system";
const WAIT = ["--wait", "--timeout=150s"];
const IMAGE = "fjord.test/fjord:built-here";

/** It takes most of a minute, so it is done where it is asked for; what Helm renders is compared each time. */
const unasked = process.env.FJORD_TEST_CHART === "1" ? false : "FJORD_TEST_CHART=1 installs the chart on a real node";
const skip = unasked || realNodesSkip() || networkSkip() || helmSkip();

describe("the chart on a real node", { skip, timeout: 600_000 }, () => {
  let bed: Bed;
  let client: KubeClient;
  let folder: string;
  let untouched: string[];
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
  const hasLinks = async () => (await networkOf(node)).some((line) => line.includes("fjord0: "));
  const agents = async () =>
    (await client.list(Pod, { namespace: NAMESPACE, labelSelector: "app.kubernetes.io/component=agent" })).items.filter(
      ({ metadata }) => metadata.deletionTimestamp === undefined,
    );

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
    await client.patch(Site, { name: "harbor" }, "merge", { spec: { network: { podRanges: ["10.42.0.0/16"] } } });
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
async function networkOf(node: RealNode): Promise<string[]> {
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
