import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, beforeEach, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import * as t from "@fjord/agent/page-testing";
import { Contract, Offloading, Peering, Site, VirtualNode } from "@fjord/api";
import { type Kind, type KubeObject, silentLogger, systemClock } from "@fjord/base";
import { CoreEvent, clusterConfig, Deployment, KubeClient, Node, Pod } from "@fjord/kube";
import { browserSkip, freePort } from "@fjord/testbed/testing";
import { ensurePage } from "./build.ts";
import { LAPTOP, PHONE, TestBrowser } from "./test-browser.ts";

const skip = browserSkip();
const ALL = ["sites", "peerings", "contracts", "nodes", "pods", "events"];

describe("the page in a browser", { skip, timeout: 300_000 }, () => {
  let api: t.TestPageApi;
  let client: KubeClient;
  let browser: TestBrowser;
  let demo: Server;
  let url = "";
  const stop = new AbortController();
  let running: Promise<void> | undefined;

  before(async () => {
    demo = createServer(async (request, response) => {
      const { site, cut } = JSON.parse(String(await request.toArray())) as { site: string; cut: boolean };
      api.objects.update(Site, t.site(site, t.WOOD, { reachable: !cut }));
      response.end();
    }).listen(0, "127.0.0.1");
    const folder = fileURLToPath(new URL("../../../.fjord/page", import.meta.url));
    const [files, started] = await Promise.all([ensurePage(folder), TestBrowser.start()]);
    browser = started;
    api = await t.TestPageApi.start();
    api.tokens.set("ann-token", { user: "ann", groups: [] });
    api.tokens.set("bob-token", { user: "bob", groups: [] });
    api.grants = { ann: ALL, bob: ["pods/shop"] };
    fill();
    client = new KubeClient(clusterConfig({ server: api.url }), { closeGraceMs: 100 });
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    const settings = { listen: { host: "127.0.0.1", port }, hosts: [], actions: true, files };
    const means = { client, clock: systemClock, random: Math.random, logger: silentLogger };
    const demoUrl = `http://127.0.0.1:${(demo.address() as AddressInfo).port}/`;
    running = new t.PageServer({ ...settings, ...means, demo: demoUrl, site: t.HARBOR, namespace: "fjord-system" }).run(
      stop.signal,
    );
  });

  after(async () => {
    await browser?.[Symbol.asyncDispose]();
    stop.abort();
    await running;
    await client?.close();
    await api?.[Symbol.asyncDispose]();
    demo?.close();
  });

  beforeEach(() => {
    api.calls.length = 0;
  });

  function fill(): void {
    const put = <T extends KubeObject>(kind: Kind<T>, ...objects: T[]) => {
      for (const object of objects) api.objects.create(kind, object);
    };
    const { sites, peerings, contracts, virtualNodes, offloadings, nodes } = t.world();
    put(Site, ...sites);
    put(Peering, ...peerings);
    put(Contract, ...contracts);
    put(VirtualNode, ...virtualNodes);
    put(Offloading, ...offloadings);
    put(Node, ...nodes);
    put(Deployment, t.deployment("web", 2) as unknown as Deployment);
    put(Pod, t.webPod("a", { node: "own-1" }), t.webPod("b", { node: "wave" }));
    put(Pod, t.pod("vault-0", { namespace: "secret", node: "own-1" }));
    put(
      CoreEvent,
      t.event("Site", "wave", { reason: "Paired" }),
      t.event("Pod", "web-7d4b9-a", { namespace: "shop", reason: "Started" }),
    );
    api.onPatch = (path, body) => {
      const { standing } = (body as { spec: { standing?: string } }).spec;
      if (path.includes("/contracts/c-1") && standing !== undefined)
        api.objects.update(Contract, t.contract("c-1", t.HARBOR, t.WAVE, { standing }));
    };
  }

  const page = () => browser.page;
  const go = (path: string) => page().goto(`${url}${path}`);
  const confirm = (verb: string) => page().getByRole("dialog").getByRole("button", { name: verb }).click();
  const region = (name: string) => page().getByRole("region", { name });

  async function logIn(token: string): Promise<void> {
    await page().getByLabel("Bearer token").fill(token);
    await page().getByRole("button", { name: "Log in" }).click();
  }

  it("asks who comes, and refuses in words", async () => {
    await go("/");
    await logIn("wrong");
    await page().getByRole("alert").getByText("the API does not know this token").waitFor();
    await logIn("ann-token");
    await page().getByRole("heading", { name: "Continuum" }).waitFor();
  });

  it("shows the continuum: sites with tier and state, what is agreed, what happened", async () => {
    const sites = page().getByRole("list", { name: "Sites" });
    await sites.getByRole("link", { name: "harbor, cloud site, this site, well, 2 pods" }).waitFor();
    await sites.getByRole("link", { name: "wave, edge site, well, 1 pod" }).waitFor();
    assert.equal(await page().locator(".link-open").count(), 2, "one line, one in the legend");
    await region("Agreements").getByText("Open", { exact: true }).waitFor();
    await region("Events").getByText("Paired", { exact: true }).waitFor();
  });

  it("a site that stops answering is shown at once, and when it is back", async () => {
    api.objects.update(Site, t.site("wave", t.WAVE, { reachable: false }));
    await page().getByRole("alert").getByText("wave").waitFor();
    await page()
      .getByRole("link", { name: /^wave, edge site, unreachable for/ })
      .waitFor();
    await page().locator(".links .link-broken").getByText("✕ no answer").waitFor();
    api.objects.update(Site, t.site("wave", t.WAVE));
    await page()
      .getByRole("link", { name: /^wave, edge site, well/ })
      .waitFor();
    assert.equal(await page().getByRole("alert").count(), 0);
  });

  it("is used by keyboard, with focus that is seen", async () => {
    await go("/");
    await page()
      .getByRole("link", { name: /^wave, edge/ })
      .waitFor();
    await page().keyboard.press("Tab");
    assert.equal(await page().evaluate("document.activeElement.textContent"), "To the content");
    const focused = () => page().evaluate<string>('document.activeElement.getAttribute("aria-label") ?? ""');
    for (let steps = 0; steps < 40 && !(await focused()).startsWith("wave,"); steps++)
      await page().keyboard.press("Tab");
    assert.match(await focused(), /^wave,/);
    assert.equal(await page().evaluate("getComputedStyle(document.activeElement).outlineStyle"), "solid");
    await page().keyboard.press("Enter");
    await page().getByRole("heading", { name: "wave", level: 1 }).waitFor();
    await page().getByRole("button", { name: "Cordon" }).focus();
    await page().keyboard.press("Enter");
    await page().getByRole("dialog", { name: "Cordon contract c-1?" }).waitFor();
    await page().keyboard.press("Escape");
    await page().getByRole("dialog").waitFor({ state: "detached" });
    assert.deepEqual(
      api.calls.filter(({ method }) => method === "PATCH"),
      [],
    );
  });

  it("a site's page has capacity, what is contracted, nodes, conditions and events", async () => {
    await go("/sites/wave");
    await page().getByRole("meter", { name: "Processors used" }).waitFor();
    assert.match(
      await page()
        .getByRole("row", { name: /Taken from it by harbor/ })
        .innerText(),
      /4\s+8 GiB\s+50/,
    );
    await region("Conditions").getByText("Dialled").waitFor();
    await region("Events").getByText("Paired", { exact: true }).waitFor();
    await region("Virtual nodes").getByText("Ready").waitFor();
    await region("Workloads here").getByRole("link", { name: "web" }).waitFor();
  });

  it("a contract is cordoned, drained and opened, each after a question, as the viewer", async () => {
    for (const [button, verb, state] of [
      ["Cordon", "Cordon", "Cordoned"],
      ["Drain", "Drain", "Drained"],
      ["Uncordon", "Open", "Open"],
    ] as const) {
      await page().getByRole("button", { name: button, exact: true }).click();
      await confirm(verb);
      await region("Agreements").getByText(state, { exact: true }).waitFor();
    }
    const patches = api.calls.filter(({ method }) => method === "PATCH");
    assert.deepEqual(
      patches.map(({ user, body }) => [user, body]),
      [
        ["ann", { spec: { standing: "Cordoned" } }],
        ["ann", { spec: { standing: "Drained" } }],
        ["ann", { spec: { standing: "Open" } }],
      ],
    );
  });

  it("in a demo a site is cut off and connected again", async () => {
    await go("/sites/wood");
    await page().getByRole("button", { name: "Cut off" }).click();
    await confirm("Cut off");
    await page().getByRole("alert").getByText("wood").waitFor();
    await page().getByRole("button", { name: "Connect again" }).click();
    await confirm("Connect");
    await page().getByText("Healthy").first().waitFor();
  });

  it("peering by token and moving say what is wrong, and keep what was typed", async () => {
    await go("/");
    await page().getByRole("button", { name: "Peer by token" }).click();
    await page().getByLabel("Pairing token").fill("nonsense");
    await confirm("Peer");
    await page().getByRole("dialog").getByRole("alert").waitFor();
    assert.equal(await page().getByLabel("Pairing token").inputValue(), "nonsense");
    await page().keyboard.press("Escape");
    await go("/workloads/shop/Deployment/web");
    await page().getByRole("button", { name: "Move" }).click();
    await page().getByRole("dialog").getByLabel("wood").check();
    await confirm("Move");
    await page().getByRole("dialog").getByRole("alert").getByText("there is no contract with it").waitFor();
    await page().getByRole("dialog").getByLabel("wave").check();
    await confirm("Move");
    await page().getByRole("dialog").waitFor({ state: "detached" });
    const patch = api.calls.find(({ method }) => method === "PATCH");
    assert.match(
      JSON.stringify(patch?.body),
      new RegExp(`"key":"fjord.dev/site","operator":"In","values":\\["${t.WAVE}"\\]`),
    );
  });

  it("workloads are found by name, site and path", async () => {
    await go("/workloads");
    const names = page().locator(".workload-name a");
    await page().getByRole("link", { name: "vault-0" }).waitFor();
    await page().getByLabel("Path").selectOption("shadow");
    await page().getByRole("link", { name: "vault-0" }).waitFor({ state: "detached" });
    assert.deepEqual(await names.allInnerTexts(), ["web"]);
    await page().getByLabel("Path").selectOption("");
    await page().getByLabel("Name or namespace").fill("SECRET");
    await page().getByRole("link", { name: "web" }).waitFor({ state: "detached" });
    assert.deepEqual(await names.allInnerTexts(), ["vault-0"]);
  });

  it("a workload's page says where its pods are and why, shows their log, and offers a terminal", async () => {
    await go("/workloads/shop/Deployment/web");
    await page()
      .getByText(/The scheduler chose virtual node wave: it runs at wave under contract c-1/)
      .waitFor();
    await page().getByRole("link", { name: "1 shadow at wave" }).waitFor();
    const log = page().getByRole("log");
    await log.getByText("again").waitFor();
    await page().getByPlaceholder("Only lines with…").fill("HELLO");
    await log.getByText("again").waitFor({ state: "detached" });
    await page().getByRole("tab", { name: "Logs" }).focus();
    await page().keyboard.press("ArrowRight");
    await page().locator(".shell textarea").waitFor({ state: "attached" });
    api.objects.create(Pod, t.webPod("c"));
    await page().getByText("Waits for the scheduler").waitFor();
  });

  it("light and dark differ, a choice is kept, and nothing is wider than a phone", async () => {
    const ground = () => page().evaluate<string>("getComputedStyle(document.body).backgroundColor");
    const light = await ground();
    await page().emulateMedia({ colorScheme: "dark" });
    assert.notEqual(await ground(), light);
    await page().getByRole("button", { name: "Switch to light" }).click();
    await page().reload();
    await page().getByRole("heading", { level: 1 }).waitFor();
    assert.equal(await ground(), light);
    await page().setViewportSize(PHONE);
    for (const path of ["/", "/sites/harbor", "/workloads", "/workloads/shop/Deployment/web"]) {
      await go(path);
      await page().getByRole("heading", { level: 1 }).waitFor();
      assert.equal(await page().evaluate("document.documentElement.scrollWidth - innerWidth"), 0, path);
    }
    await page().setViewportSize(LAPTOP);
  });

  it("names and words that mean harm are shown, and nothing more", async () => {
    const name = "<img src=x onerror=\"owned='name'\">";
    const words = `</span><script>owned='words'</script><svg onload="owned='svg'"></svg>\u202e${name}`;
    const hostile = t.site(name, "dddddddddddddddddddddddddd", { reachable: false, spec: { tier: "edge" } });
    const [ready] = hostile.status?.conditions ?? [];
    Object.assign(ready ?? {}, { message: words });
    Object.assign(hostile.status?.published ?? {}, { version: words, location: { region: words } });
    api.objects.create(Site, hostile);
    // A name that JavaScript's own objects have.
    api.objects.create(Site, t.site("constructor", "eeeeeeeeeeeeeeeeeeeeeeeeee"));
    const waiting = { reason: name, message: words };
    const status = { message: words, containerStatuses: [{ name, ready: false, restartCount: 0, state: { waiting } }] };
    api.objects.create(
      Pod,
      t.pod(name, { namespace: name, node: "wave", phase: "Pending", status, labels: { [name]: words } }),
    );
    const event = t.event("Pod", name, { namespace: name, reason: name, type: "Warning" });
    api.objects.create(CoreEvent, { ...event, message: words } as CoreEvent);
    const { log } = api;
    api.log = `2030-01-01T00:00:00Z ${words}\n${words}\n`;
    const encoded = encodeURIComponent(name);
    for (const [path, ...shown] of [
      ["/", name],
      [`/sites/${encoded}`, name, words],
      ["/workloads", name],
      [`/workloads/${encoded}/Pod/${encoded}`, name, words],
    ] as const) {
      await go(path);
      for (const text of shown) await page().getByText(text).first().waitFor({ state: "attached" });
      assert.equal(await page().evaluate("typeof owned"), "undefined", path);
      assert.equal(await page().locator("img, script:not([src]), [onerror], [onload]").count(), 0, path);
    }
    await page().getByRole("log").getByText(words).first().waitFor();
    for (const [path, heading] of [
      ["/sites/constructor", "constructor"],
      ["/sites/toString", "toString"],
      ["/sites/%25E0%25A4", "%E0%A4"],
      ["/workloads/a/%25/b", "b"],
    ] as const) {
      await go(path);
      await page().getByRole("heading", { name: heading, level: 1 }).waitFor();
    }
    api.log = log;
    for (const site of [name, "constructor"]) api.objects.delete(Site, { name: site });
    await go("/");
    await page().getByRole("link", { name: "constructor, edge site" }).waitFor({ state: "detached" });
  });

  it("someone else sees what RBAC lets them, and is told what it keeps", async () => {
    await page().getByRole("button", { name: "Log out ann" }).click();
    await logIn("bob-token");
    await page()
      .getByText(/RBAC keeps from you: sites, peerings/)
      .waitFor();
    await page().getByRole("navigation").getByRole("link", { name: "Workloads" }).click();
    await page().getByRole("link", { name: "web" }).waitFor();
    assert.deepEqual(await page().locator(".workload-name a").allInnerTexts(), ["web"]);
    await page().getByRole("link", { name: "web" }).click();
    await page()
      .getByRole("log")
      .getByText(/cannot get resource "pods\/log"/)
      .waitFor();
  });

  it("nothing came from elsewhere, and no script failed", () => browser.assertQuiet());
});
