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
import { ClusterRole, CustomResourceDefinition, KubeClient, Namespace, Pod } from "@fjord/kube";
import { type Bed, findBinaries } from "@fjord/testbed";
import { fjord } from "@fjord/testbed/agents";
import { buildRelease } from "@fjord/testbed/release";
import { helmSkip, realNodesSkip, startTestBed, testNodes } from "@fjord/testbed/testing";
import { releaseImage } from "./test-image.ts";

const root = dirname(dirname(import.meta.dirname));
const run = promisify(execFile);
const NAMESPACE = "fjord-system";
const IMAGE = "fjord.test/fjord:built-here";

/** It takes most of a minute, so it is done where it is asked for; what Helm renders is compared each time. */
const unasked = process.env.FJORD_TEST_CHART === "1" ? false : "FJORD_TEST_CHART=1 installs the chart on a real node";
const skip = unasked || realNodesSkip() || helmSkip();

describe("the chart on a real node", { skip, timeout: 300_000 }, () => {
  let bed: Bed;
  let client: KubeClient;
  let folder: string;
  let untouched: string[];

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
  });

  after(async () => {
    await client?.close();
    await bed?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const helm = async (...args: readonly string[]) => {
    const program = findBinaries({ env: process.env, sets: ["helm"] }).binaries.path("helm");
    const { kubeconfig } = bed.site("site-1");
    const { stdout } = await run(program, [...args, `--kubeconfig=${kubeconfig}`, `--namespace=${NAMESPACE}`]);
    return stdout;
  };
  const agents = async () =>
    (await client.list(Pod, { namespace: NAMESPACE, labelSelector: "app.kubernetes.io/component=agent" })).items.filter(
      ({ metadata }) => metadata.deletionTimestamp === undefined,
    );

  it("starts an agent that introduces the site, without privileges", async () => {
    const image = ["--set=image.repository=fjord.test/fjord", "--set=image.tag=built-here"];
    const values = ["--set=siteName=harbor", "--set=tier=cloud", ...image];
    const said = await helm("install", "fjord", join(root, "charts/fjord"), "--create-namespace", ...values, "--wait");
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

  it("is upgraded by Helm, and removed by `fjord uninstall` without a trace", async () => {
    await helm("upgrade", "fjord", join(root, "charts/fjord"), "--reuse-values", "--set=tier=edge", "--wait");
    // The agent that was there before leads until it has gone.
    const tier = async () => (await client.get(Site, { name: "harbor" })).status?.published?.tier;
    while ((await tier()) !== "edge") await sleep(200);
    assert.equal(await fjord(bed.site("site-1"), "uninstall"), "Fjord uninstalled\n");
    assert.deepEqual(await inventory(client), untouched);
  });
});

async function firstLines(stream: NodeJS.ReadableStream): Promise<string[]> {
  for await (const line of createInterface(stream)) return [line];
  return [];
}

async function inventory(client: KubeClient): Promise<string[]> {
  const lists = await Promise.all([
    client.list(CustomResourceDefinition),
    client.list(ClusterRole),
    client.list(Namespace),
  ]);
  return lists.flatMap(({ items }) => items.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toSorted();
}
