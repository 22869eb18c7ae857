import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type IncomingMessage, request as open } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { Contract, OFFLOADING_NAME, Offloading, SITE_LABEL, Site, VirtualNode } from "@fjord/api";
import { silentLogger, systemClock } from "@fjord/base";
import { clusterConfig, Deployment, KubeClient, Node, Pod } from "@fjord/kube";
import { freePort } from "@fjord/testbed/testing";
import { signerOf } from "../proven-user.ts";
import { LOGIN, loginName } from "./login-code.ts";
import type { Snapshot } from "./model/index.ts";
import { contract, HARBOR, node, site, WAVE, webPod } from "./model/test-world.ts";
import { PageServer } from "./page-server.ts";
import { type ApiCall, TestPageApi } from "./test-page-api.ts";

const EVERYTHING = ["sites", "peerings", "contracts", "nodes", "pods", "events"];

interface Asked {
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
  readonly port?: number;
}

describe("the page's server", () => {
  let api: TestPageApi;
  let client: KubeClient;
  let folder: string;
  let port = 0;
  let readOnlyPort = 0;
  const stop = new AbortController();
  const running: Promise<void>[] = [];

  before(async () => {
    api = await TestPageApi.start();
    client = new KubeClient(clusterConfig({ server: api.url }), { closeGraceMs: 100 });
    folder = mkdtempSync(join(tmpdir(), "fjord-page-"));
    mkdirSync(join(folder, "assets"));
    writeFileSync(join(folder, "index.html"), '<meta content="{{nonce}}">the page');
    writeFileSync(join(folder, "assets", "main-1.js"), "let page = 1;".repeat(50));
    for (const object of [site("harbor", HARBOR, { role: "Self", tier: "cloud" }), site("wave", WAVE)])
      api.objects.create(Site, object);
    api.objects.create(Node, node("own-1"));
    for (const pod of [webPod("a", { node: "own-1" }), webPod("z", { node: "own-1", namespace: "vault" })])
      api.objects.create(Pod, pod);
    api.objects.create(Contract, contract("c-1", HARBOR, WAVE));
    [port, readOnlyPort] = await Promise.all([start(true), start(false)]);
  });

  after(async () => {
    stop.abort();
    await Promise.all(running);
    await client.close();
    await api[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });

  beforeEach(() => {
    api.tokens.set("ann-token", { user: "ann", groups: ["shop"] });
    api.tokens.set("bob-token", { user: "bob", groups: [] });
    api.grants = { ann: EVERYTHING, bob: ["pods/shop"] };
    api.calls.length = 0;
  });

  async function start(actions: boolean): Promise<number> {
    const chosen = await freePort();
    const settings = { listen: { host: "127.0.0.1", port: chosen }, hosts: ["page.example"], actions, files: folder };
    const means = { client, clock: systemClock, random: Math.random, logger: silentLogger };
    running.push(new PageServer({ ...settings, ...means, site: HARBOR, namespace: "fjord-system" }).run(stop.signal));
    return chosen;
  }

  function ask(method: string, path: string, { headers, body, port: at = port }: Asked = {}) {
    const all = { ...(method !== "GET" && { origin: `http://127.0.0.1:${at}` }), ...headers };
    return new Promise<{ status: number; headers: IncomingMessage["headers"]; text: string }>((resolve, reject) => {
      const request = open({ host: "127.0.0.1", port: at, method, path, headers: all }, (answer) => {
        let text = "";
        answer.setEncoding("utf8").on("data", (piece) => (text += piece));
        answer.on("end", () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }));
      });
      request.on("error", reject).end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  async function logIn(token: string, at = port): Promise<Record<string, string>> {
    const { status, headers } = await ask("POST", "/api/session", { body: { token }, port: at });
    assert.equal(status, 200);
    return { cookie: String(headers["set-cookie"]?.[0]).split(";")[0] ?? "" };
  }

  describe("files", () => {
    it("gives the page for every path of its own, with a nonce of its own each time", async () => {
      const [one, two] = await Promise.all([ask("GET", "/"), ask("GET", "/sites/wave")]);
      assert.equal(one.status, 200);
      const nonce = /content="([\w-]+)"/.exec(one.text)?.[1] ?? "";
      assert.match(String(one.headers["content-security-policy"]), new RegExp(`nonce-${nonce}`));
      assert.notEqual(one.text, two.text);
    });

    it("gives scripts packed, to be kept, and nothing that is outside of its folder", async () => {
      const { headers } = await ask("GET", "/assets/main-1.js", { headers: { "accept-encoding": "gzip" } });
      assert.equal(headers["content-encoding"], "gzip");
      assert.match(String(headers["cache-control"]), /immutable/);
      assert.equal((await ask("GET", "/assets/other.js")).status, 404);
      assert.equal((await ask("GET", "/assets/../../etc/passwd.txt")).status, 404);
      const { status } = await ask("GET", "/assets/main-1.js", { headers: { "if-none-match": String(headers.etag) } });
      assert.equal(status, 304);
    });
  });

  describe("who comes in", () => {
    it("nobody without a session", async () => {
      for (const path of ["/api/session", "/api/snapshot", "/api/live", "/api/log"])
        assert.equal((await ask("GET", path)).status, 401, path);
      assert.equal((await ask("POST", "/api/actions/cordon", { body: {} })).status, 401);
    });

    it("someone with a token that the API knows", async () => {
      const { headers } = await ask("POST", "/api/session", { body: { token: " ann-token\n" } });
      assert.match(
        String(headers["set-cookie"]),
        /^fjord-\w+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=28800$/,
      );
      assert.equal((await ask("POST", "/api/session", { body: { token: "wrong" } })).status, 401);
      assert.equal((await ask("POST", "/api/session", { body: {} })).status, 400);
    });

    it("nobody who has shown wrong tokens all the time, but whoever has a link", async () => {
      const at = await start(true);
      const attempt = (body: object) => ask("POST", "/api/session", { body, port: at });
      // It may not listen yet.
      for (;;)
        if (
          await attempt({ token: "ann-token" }).then(
            () => true,
            () => false,
          )
        )
          break;
      const answers = await Promise.all(Array.from({ length: 80 }, () => attempt({ token: "wrong" })));
      assert.ok(answers.some(({ status }) => status === 401));
      const refused = answers.filter(({ status }) => status === 429);
      assert.ok(refused.length > 0);
      assert.match(refused[0]?.text ?? "", /too many have tried, try again in \d+ s.*PAGE_TOO_MANY_LOGINS/);
      const code = "g".repeat(43);
      api.requests.set(loginName(code), loginRequest({ username: "ann", groups: ["shop"] }));
      assert.equal((await attempt({ code })).status, 200);
    });

    it("someone with the code of a link, once", async () => {
      const code = "k".repeat(43);
      api.requests.set(loginName(code), loginRequest({ username: "ann", groups: ["shop"] }));
      const answers = await Promise.all([1, 2].map(() => ask("POST", "/api/session", { body: { code } })));
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 401]);
      assert.equal((await ask("POST", "/api/session", { body: { code } })).status, 401);
    });

    it("nobody with a code that is too old, or of a request that is for something else", async () => {
      api.requests.set(loginName("old"), loginRequest({ username: "ann", at: "2020-01-01T00:00:00Z" }));
      api.requests.set(
        loginName("other"),
        loginRequest({ username: "ann", signerName: "kubernetes.io/kubelet-serving" }),
      );
      for (const code of ["old", "other"])
        assert.equal((await ask("POST", "/api/session", { body: { code } })).status, 401, code);
      assert.ok(api.requests.has(loginName("other")), "a request that is not the page's stays");
    });

    it("nobody from another page, or by another name", async () => {
      const evil = { origin: "https://evil.example" };
      assert.equal((await ask("POST", "/api/session", { body: { token: "ann-token" }, headers: evil })).status, 403);
      const session = await logIn("ann-token");
      assert.equal(
        (await ask("POST", "/api/actions/cordon", { body: { contract: "c-1" }, headers: { ...session, ...evil } }))
          .status,
        403,
      );
      assert.equal((await ask("GET", "/api/snapshot", { headers: { ...session, host: "evil.example" } })).status, 421);
      assert.equal((await ask("GET", "/", { headers: { host: "page.example" } })).status, 200);
    });

    it("and out again", async () => {
      const headers = await logIn("ann-token");
      assert.equal((await ask("GET", "/api/session", { headers })).text, '{"user":"ann"}');
      await ask("DELETE", "/api/session", { headers });
      assert.equal((await ask("GET", "/api/session", { headers })).status, 401);
    });
  });

  describe("what is shown", () => {
    it("everything to one whom RBAC lets list everything", async () => {
      const { text } = await ask("GET", "/api/snapshot", { headers: await logIn("ann-token") });
      const seen = JSON.parse(text) as Snapshot;
      assert.deepEqual(
        [seen.self, Object.keys(seen.sites), Object.keys(seen.workloads)],
        ["harbor", ["harbor", "wave"], ["shop/Deployment/web", "vault/Deployment/web"]],
      );
      assert.deepEqual(seen.viewer, { user: "ann", actions: true, demo: false, hidden: [] });
    });

    it("to another only the namespace that is theirs", async () => {
      const { text } = await ask("GET", "/api/snapshot?workload=vault/Deployment/web", {
        headers: await logIn("bob-token"),
      });
      const seen = JSON.parse(text) as Snapshot;
      assert.deepEqual(
        [seen.self, Object.keys(seen.sites), Object.keys(seen.workloads), seen.pods],
        ["", [], ["shop/Deployment/web"], {}],
      );
    });

    it("live: a snapshot, then what changes", { timeout: 60_000 }, async () => {
      const headers = await logIn("ann-token");
      const request = open({ host: "127.0.0.1", port, path: "/api/live?workload=shop/Deployment/web", headers }).end();
      const [answer] = (await once(request, "response")) as [IncomingMessage];
      const events = eventsIn(answer);
      const first = (await events.next()).value;
      assert.equal(first?.event, "snapshot");
      api.objects.create(Pod, webPod("b", { node: "own-1" }));
      const second = (await events.next()).value;
      assert.equal(second?.event, "changes");
      const changes = JSON.parse(second?.data ?? "") as { pods: object; workloads: Record<string, { pods: number }> };
      assert.deepEqual(Object.keys(changes.pods), ["shop/web-7d4b9-b"]);
      assert.equal(changes.workloads["shop/Deployment/web"]?.pods, 2);
      request.destroy();
      api.objects.delete(Pod, { namespace: "shop", name: "web-7d4b9-b" });
    });
  });

  describe("what is done", () => {
    it("is done as the viewer, by the API", async () => {
      const { status, text } = await ask("POST", "/api/actions/cordon", {
        headers: await logIn("ann-token"),
        body: { contract: "c-1" },
      });
      assert.deepEqual([status, text], [200, '{"done":"Contract c-1 is cordoned."}']);
      const patch = api.calls.find(({ method }) => method === "PATCH");
      assert.deepEqual([patch?.user, patch?.body], ["ann", { spec: { standing: "Cordoned" } }]);
    });

    it("moves no workload to where its pods could not land", async () => {
      const template = { metadata: {}, spec: { containers: [], nodeSelector: { disk: "ssd" } } };
      const metadata = { namespace: "shop", name: "web" };
      const deployment = { apiVersion: "apps/v1", kind: "Deployment", metadata, spec: { replicas: 2, template } };
      api.objects.create(Deployment, deployment as unknown as Deployment);
      const headers = await logIn("ann-token");
      const move = async (to: string) => {
        const body = { ...metadata, kind: "Deployment", to };
        const { status, text } = await ask("POST", "/api/actions/move", { headers, body });
        return `${status} ${text}`;
      };
      assert.match(await move("wave"), /^400 .*cannot move web to wave: there is no contract with it/);
      const virtual = { metadata: { name: "wave" }, spec: { contract: "c-1" } } as VirtualNode;
      api.objects.create(VirtualNode, virtual);
      assert.match(await move("wave"), /^400 .*namespace shop is not offloaded/);
      const pods = { metadata: { namespace: "shop", name: OFFLOADING_NAME }, spec: { pods: "Both" } };
      api.objects.create(Offloading, pods as unknown as Offloading);
      assert.match(await move("wave"), /^400 .*there is no node at wave/);
      api.objects.create(Node, { metadata: { name: "wave", labels: { [SITE_LABEL]: WAVE } } } as unknown as Node);
      assert.match(await move("wave"), /^400 .*its nodeSelector asks for disk=ssd, and node wave has no label disk/);
      assert.match(await move("home"), /^400 .*cannot move web to this site: its nodeSelector asks for disk=ssd/);
      assert.equal(api.calls.filter(({ method }) => method === "PATCH").length, 0);

      const labels = { [SITE_LABEL]: WAVE, disk: "ssd" };
      api.objects.update(Node, { metadata: { name: "wave", labels } } as unknown as Node);
      assert.equal(await move("wave"), '200 {"done":"web moves to wave."}');
      assert.equal(await move("anywhere"), '200 {"done":"web runs wherever the scheduler likes."}');
      const [moved, freed] = api.calls.filter(({ method }) => method === "PATCH");
      const wish = { key: SITE_LABEL, operator: "In", values: [WAVE] };
      const required = { nodeSelectorTerms: [{ matchExpressions: [wish] }] };
      const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } };
      const affinityIn = (call: ApiCall | undefined) =>
        (call?.body as Deployment | undefined)?.spec?.template.spec?.affinity;
      assert.deepEqual([moved?.user, affinityIn(moved)], ["ann", affinity]);
      assert.equal(affinityIn(freed), null);
      api.objects.delete(Node, { name: "wave" });
    });

    it("is refused in the API's words where RBAC does not let them", async () => {
      const { status, text } = await ask("POST", "/api/actions/drain", {
        headers: await logIn("bob-token"),
        body: { contract: "c-1" },
      });
      assert.equal(status, 403);
      assert.match(text, /User \\"bob\\" cannot patch that/);
    });

    it("is refused by a page that is for reading only, terminals too", async () => {
      const headers = await logIn("ann-token", readOnlyPort);
      const { status, text } = await ask("POST", "/api/actions/cordon", {
        headers,
        body: { contract: "c-1" },
        port: readOnlyPort,
      });
      assert.deepEqual([status, /--page-actions/.test(text)], [403, true]);
      assert.equal(await upgrade(readOnlyPort, headers), 403);
    });

    it("is only what there is", async () => {
      const headers = await logIn("ann-token");
      assert.equal((await ask("POST", "/api/actions/constructor", { headers, body: {} })).status, 404);
      assert.equal((await ask("POST", "/api/actions/cut", { headers, body: { site: "wave" } })).status, 400);
      assert.match((await ask("POST", "/api/actions/cordon", { headers, body: {} })).text, /contract is missing/);
    });

    it("a terminal is for those who are logged in, and from the page itself", async () => {
      assert.equal(await upgrade(port, {}), 401);
      assert.equal(await upgrade(port, { ...(await logIn("ann-token")), origin: "https://evil.example" }), 403);
    });

    it("a path that is none, of anybody, is refused and harms nothing", async () => {
      for (const path of ["//", "/\\\\", "//[", "http://["]) {
        const status = await upgrade(port, { host: "evil.example" }, path);
        assert.ok(status === 400 || status === 403, `${path}: ${status}`);
        assert.ok((await ask("GET", path)).status < 500, path);
      }
    });
  });

  it("the log of a pod is read as the viewer", async () => {
    const path = "/api/log?namespace=shop&pod=web&container=main";
    const { text } = await ask("GET", path, { headers: await logIn("ann-token") });
    assert.equal(text, "2030-01-01T00:00:00Z hello\n2030-01-01T00:00:01Z again\n");
    const refused = await ask("GET", path, { headers: await logIn("bob-token") });
    assert.deepEqual([refused.status, /cannot get resource/.test(refused.text)], [403, true]);
  });

  function upgrade(
    at: number,
    headers: Record<string, string>,
    path = "/api/terminal?namespace=shop&pod=web",
  ): Promise<number> {
    const more = {
      connection: "upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": "x".repeat(22),
    };
    return new Promise((resolve, reject) => {
      const all = { origin: `http://127.0.0.1:${at}`, ...more, ...headers };
      const request = open({ host: "127.0.0.1", port: at, path, headers: all }, (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? 0);
      });
      request
        .on("upgrade", () => resolve(101))
        .on("error", reject)
        .end();
    });
  }
});

function loginRequest({
  username,
  groups = [],
  at = new Date().toISOString(),
  signerName = signerOf(LOGIN),
}: {
  username: string;
  groups?: string[];
  at?: string;
  signerName?: string;
}) {
  return {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name: "x", uid: "1", creationTimestamp: at },
    spec: { signerName, username, groups },
  };
}

async function* eventsIn(answer: IncomingMessage): AsyncGenerator<{ event: string; data: string }, void, void> {
  let text = "";
  for await (const piece of answer.setEncoding("utf8")) {
    text += piece;
    const parts = text.split("\n\n");
    text = parts.pop() ?? "";
    for (const part of parts) {
      const [, event = "", data = ""] = /^event: (\w+)\ndata: (.*)$/.exec(part) ?? [];
      if (event !== "") yield { event, data };
    }
  }
}
