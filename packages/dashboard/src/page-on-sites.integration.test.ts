import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { Contract, VIRTUAL_NODE } from "@fjord/api";
import { RoleBinding, ServiceAccount } from "@fjord/kube";
import { fjord, fjordResult } from "@fjord/testbed/agents";
import { browserSkip, kubernetesSkip } from "@fjord/testbed/testing";
import { TestBrowser } from "./test-browser.ts";
import { PageContinuum, SITES } from "./test-continuum.ts";

/** A wish that gives way when the workload is moved. */
const HOME = {
  nodeAffinity: {
    preferredDuringSchedulingIgnoredDuringExecution: [
      { weight: 100, preference: { matchExpressions: [{ key: VIRTUAL_NODE, operator: "DoesNotExist" }] } },
    ],
  },
};
const AWAY = {
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchExpressions: [{ key: VIRTUAL_NODE, operator: "Exists" }] }],
    },
  },
};
/** It takes most of a minute, so it is done where it is asked for; every page and action is tested on a stand-in API each time. */
const unasked =
  process.env.FJORD_TEST_PAGE === "1" ? false : "FJORD_TEST_PAGE=1 tests the page of agents on real sites";
const skip = unasked || kubernetesSkip() || browserSkip();

describe("the page of an agent among real sites", { skip, timeout: 500_000 }, () => {
  let continuum: PageContinuum;
  let browser: TestBrowser;
  let demo: Server;

  before(async () => {
    demo = createServer(async (request, response) => {
      const { site, cut } = JSON.parse(String(await request.toArray())) as { site: string; cut: boolean };
      await continuum.reach(site, cut);
      response.end();
    }).listen(0, "127.0.0.1");
    await once(demo, "listening");
    const { port } = demo.address() as AddressInfo;
    const flags = ["--page-actions", `--page-demo=http://127.0.0.1:${port}/`];
    browser = await TestBrowser.start();
    continuum = await PageContinuum.start(SITES, flags);
    const amounts = { cpu: "8", memory: "16Gi", pods: "100" };
    await Promise.all(SITES.map(({ name }) => continuum.share(name, amounts)));
    await continuum.peer("harbor", "lively-wave", "--cpu=4", "--memory=8Gi", "--pods=50");
    await continuum.offloaded("shop");
    await Promise.all([continuum.deploy("shop", "web", 2, HOME), continuum.deploy("shop", "front", 1, AWAY)]);
  });

  after(async () => {
    await browser?.[Symbol.asyncDispose]();
    await continuum?.[Symbol.asyncDispose]();
    demo?.close();
  });

  const page = () => browser.page;
  const go = (path: string) => page().goto(`${continuum.url}${path}`);
  const confirm = (verb: string) => page().getByRole("dialog").getByRole("button", { name: verb }).click();
  const told = (text: RegExp) => page().locator(".sayings").getByText(text).waitFor();

  it("the link of `fjord dashboard` logs in once, and stands in no address afterwards", async () => {
    const link = await continuum.link();
    assert.ok(link.startsWith(`${continuum.url}/#login=`), link);
    await page().goto(link);
    await page().getByRole("heading", { name: "Continuum" }).waitFor();
    assert.equal(page().url(), `${continuum.url}/`);
    await page()
      .getByRole("button", { name: /^Log out/ })
      .click();
    await page().getByLabel("Bearer token").waitFor();
    await page().goto("about:blank");
    await page().goto(link);
    await page()
      .getByRole("alert")
      .getByText(/used before/)
      .waitFor();
    await page().goto("about:blank");
    await page().goto(await continuum.link());
    await page().getByRole("heading", { name: "Continuum" }).waitFor();
  });

  it("the graph shows the sites, with their tier, their node and this one's place", async () => {
    const sites = page().getByRole("list", { name: "Sites" });
    await sites.getByRole("link", { name: /^harbor, cloud site, this site, well/ }).waitFor();
    await sites.getByRole("link", { name: /^lively-wave, edge site, well/ }).waitFor();
    await page().locator(".link-open .link-line").first().waitFor({ state: "attached" });
  });

  it("another site is peered by its token, and appears by itself", async () => {
    await page().getByRole("button", { name: "Peer by token" }).click();
    await page().getByLabel("Pairing token").fill("nonsense");
    await confirm("Peer");
    await page().getByRole("dialog").getByRole("alert").waitFor();
    await page()
      .getByLabel("Pairing token")
      .fill(await continuum.token("frosty-wood", "harbor"));
    await confirm("Peer");
    await told(/Paired with frosty-wood/);
    await page().locator('.card:has-text("frosty-wood"):has-text("node frosty-wood")').waitFor();
  });

  it("a site's page has capacity, what is contracted, conditions and events", async () => {
    await go("/sites/lively-wave");
    await page().getByRole("meter", { name: "Processors used" }).waitFor();
    const taken = page().getByRole("row", { name: /Taken from it by harbor/ });
    assert.match(await taken.innerText(), /4\s+8 GiB\s+50/);
    for (const panel of ["Conditions", "Events", "Agreements", "Virtual nodes", "Workloads here"])
      await page().getByRole("region", { name: panel }).waitFor();
    await page().getByRole("region", { name: "Conditions" }).getByText("Reachable").first().waitFor();
    await page().getByRole("region", { name: "Workloads here" }).getByText("front").waitFor();
  });

  it("a workload's page says where its pods are and why, and follows their log from the other site", async () => {
    await go("/workloads/shop/Deployment/front");
    await page()
      .getByText(/The scheduler chose virtual node lively-wave: it runs at lively-wave under contract/)
      .waitFor();
    await page().getByText("1 of 1 ready").first().waitFor();
    const log = page().getByRole("log");
    await log
      .getByText(/served request \d+/)
      .first()
      .waitFor();
    const lines = await log.getByText(/served request/).count();
    await log
      .getByText(/served request/)
      .nth(lines)
      .waitFor();
    await page().getByPlaceholder("Only lines with…").fill("request 1");
    assert.equal(await log.getByText(/served request 2$/).count(), 0);
  });

  it("a terminal runs a shell in the pod at the other site", async () => {
    await page().getByRole("tab", { name: "Terminal" }).click();
    await page()
      .getByRole("status")
      .getByText(/connected/)
      .waitFor();
    await page().locator(".shell textarea").focus();
    await page().keyboard.type("echo sum-$((40+2))\n");
    await page().locator(".shell").getByText("sum-42").first().waitFor();
    await page().keyboard.type("exit\n");
    await page()
      .getByText(/the shell ended with 0/)
      .waitFor();
  });

  it("`fjord logs` prints what it has written there, and names the site where there are several", async () => {
    const home = continuum.siteOf("harbor");
    const one = await fjord(home, "logs", "deployment/front", "-n", "shop", "--tail=1");
    assert.match(one, /^served request \d+\n$/);
    const several = await fjord(home, "logs", "-l", "app in (front, web)", "-n", "shop");
    assert.match(several, /^\[lively-wave front-\S+ front\] served request 1$/m);
    assert.match(several, /^\[harbor web-\S+ web\] served request 1$/m);
    const timed = await fjord(home, "logs", "deployment/front", "-n", "shop", "--timestamps", "--tail=1");
    assert.match(timed, /^\d{4}-\d\d-\d\dT\S+Z served request \d+\n$/);
    const none = await fjordResult(home, "logs", "deployment/frond", "-n", "shop");
    assert.match(none.stderr, /did you mean front\?/);
  });

  it("a workload is moved to another site", async () => {
    await go("/workloads/shop/Deployment/web");
    await page().getByRole("region", { name: "Placement" }).getByText("native").waitFor();
    await page().getByRole("button", { name: "Move" }).click();
    await page().getByRole("dialog").getByLabel("lively-wave").check();
    await confirm("Move");
    await told(/web moves to lively-wave/);
    await page().getByRole("link", { name: "2 shadow at lively-wave" }).waitFor();
  });

  it("a workload is not moved to where its pods could not land, and it is said why", async () => {
    await go("/workloads/shop/Deployment/front");
    await page().getByRole("button", { name: "Move" }).click();
    await page().getByRole("dialog").getByLabel("harbor").check();
    await confirm("Move");
    const alert = page().getByRole("dialog").getByRole("alert");
    await alert.getByText(/its node affinity asks for the label fjord.dev\/virtual-node/).waitFor();
    await page().keyboard.press("Escape");
  });

  it("a contract is cordoned, drained and opened again, each after a question", async () => {
    const standing = async () =>
      (await continuum.admin.list(Contract)).items.find(({ spec }) => spec.terms.provider === id)?.spec.standing;
    const id = (await continuum.admin.list(Contract)).items.find(({ spec }) => spec.terms.resources.cpu === "4")?.spec
      .terms.provider;
    await go("/sites/lively-wave");
    await page().getByRole("button", { name: "Cordon", exact: true }).click();
    assert.equal(await standing(), "Open");
    await confirm("Cordon");
    await page().getByRole("region", { name: "Agreements" }).getByText("Cordoned", { exact: true }).waitFor();
    assert.equal(await standing(), "Cordoned");
    await page().getByRole("button", { name: "Uncordon" }).click();
    await confirm("Open");
    await page().getByRole("region", { name: "Agreements" }).getByText("Open", { exact: true }).waitFor();
    await page().getByRole("button", { name: "Drain" }).click();
    await confirm("Drain");
    await page().getByRole("region", { name: "Agreements" }).getByText("Drained", { exact: true }).waitFor();
    assert.equal(await standing(), "Drained");
    await page().getByRole("button", { name: "Uncordon" }).click();
    await confirm("Open");
    await page().getByRole("region", { name: "Agreements" }).getByText("Open", { exact: true }).waitFor();
  });

  it("a site that is cut off cannot be overlooked, and comes back", async () => {
    await go("/sites/frosty-wood");
    await page().getByRole("button", { name: "Cut off" }).click();
    await confirm("Cut off");
    await told(/frosty-wood is cut off/);
    await go("/");
    await page().getByRole("alert").getByText("frosty-wood").waitFor();
    await page()
      .getByRole("link", { name: /^frosty-wood, edge site, unreachable for/ })
      .waitFor();
    await page()
      .locator(".link-broken .link-label")
      .getByText(/no answer/)
      .waitFor();
    await go("/sites/frosty-wood");
    await page().getByRole("button", { name: "Connect again" }).click();
    await confirm("Connect");
    await page().getByText("Healthy").waitFor();
    await go("/");
    await page()
      .getByRole("link", { name: /^frosty-wood, edge site, well/ })
      .waitFor();
    assert.equal(await page().getByRole("alert").count(), 0);
  });

  it("a user of one namespace sees that and no more, and is refused what RBAC refuses", async () => {
    const { admin } = continuum;
    await admin.create(ServiceAccount, {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { namespace: "shop", name: "clerk" },
    });
    await admin.create(RoleBinding, {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata: { namespace: "shop", name: "clerk" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
      subjects: [{ kind: "ServiceAccount", namespace: "shop", name: "clerk" }],
    });
    const { token } = await admin.createToken({ namespace: "shop", name: "clerk" });
    await page()
      .getByRole("button", { name: /^Log out/ })
      .click();
    await page().getByLabel("Bearer token").fill(token);
    await page().getByRole("button", { name: "Log in" }).click();
    await page()
      .getByText(/RBAC keeps from you: sites/)
      .waitFor();
    await go("/workloads");
    await page().getByLabel("System namespaces").check();
    await page().getByRole("link", { name: "front" }).waitFor();
    assert.deepEqual((await page().locator(".workload-name a").allInnerTexts()).sort(), ["front", "web"]);
    await go("/workloads/shop/Deployment/front");
    await page().getByRole("tab", { name: "Terminal" }).click();
    await page()
      .getByText(/cannot create resource "pods\/exec"|forbidden/i)
      .waitFor();
  });

  it("nothing came from elsewhere, and no script failed", () => browser.assertQuiet());
});
