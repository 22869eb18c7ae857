import assert from "node:assert/strict";
import type { Duplex } from "node:stream";
import { after, before, describe, test } from "node:test";
import { sleep } from "@fjord/base";
import { ConfigMap, EndpointSlice, KubeClient, Namespace, type Node, Secret, Service, SharedCaches } from "@fjord/kube";
import { type SharedTestSite, sharedTestSite } from "@fjord/testbed/shared-sites";
import { kubernetesSkip } from "@fjord/testbed/testing";
import { KnownTenantAddresses, serviceRanges } from "../../network/index.ts";
import { means } from "../server/test-sites.ts";
import { type EscapeRequest, escapeRequests } from "./escape-requests.ts";
import { ExternalNames } from "./external-names.ts";
import { auditApiServer, installKinds, TestProvider } from "./test-provider.ts";

interface AuditEvent {
  verb: string;
  requestURI: string;
  userAgent?: string;
  impersonatedUser?: { username: string };
  objectRef?: { namespace?: string };
  responseStatus?: { code: number };
}

const MARK = "escape-test";

describe("a consumer that controls its own agent", { skip: kubernetesSkip() }, () => {
  let bed: SharedTestSite;
  let provider: TestProvider;
  let audit: () => Promise<AuditEvent[]>;
  let requests: EscapeRequest[];
  let untouched: string;
  let addresses: Awaited<ReturnType<typeof startAddresses>>;

  before(async () => {
    bed = await sharedTestSite();
    audit = (await auditApiServer(bed.site)) as unknown as typeof audit;
    addresses = await startAddresses(bed);
    provider = await TestProvider.start(bed.site, {
      limits: { requestsPerSecond: 10_000, burst: 10_000 },
      addresses: addresses.known,
      externalNames: new ExternalNames({
        isTwinOf: (id, namespace) => namespace === `shop-${id}`,
        hasNamespace: (name) => name === "default" || name.startsWith("shop-"),
        addresses: addresses.known,
      }),
    });
    const { consumer, rival } = provider;
    await makeHarmless(provider.client, provider.twinOf(consumer));
    requests = escapeRequests({
      consumer: consumer.id,
      rival: rival.id,
      twin: provider.twinOf(consumer),
      rivalTwin: provider.twinOf(rival),
      tenant: `fjord-tenant-${consumer.id}`,
      rivalTenant: `fjord-tenant-${rival.id}`,
      own: ["10.42.0.7", addresses.api, "192.168.7.4"],
    });
    untouched = await everything();
  });
  after(async () => {
    await addresses?.[Symbol.asyncDispose]();
    await provider?.[Symbol.asyncDispose]();
  });

  /** Each object that a request might have made or changed, with its revision. */
  async function everything(): Promise<string> {
    const lists = await Promise.all([
      provider.client.list(Secret),
      provider.client.list(ConfigMap),
      provider.client.list(Namespace),
      provider.client.list(EndpointSlice),
      provider.client.list(Service),
    ]);
    const lines = lists.flatMap(({ items }) =>
      (items as Secret[]).map(({ metadata: m }) => `${m.uid} ${m.resourceVersion}`),
    );
    return lines.sort().join("\n");
  }

  test("has more than 200 things to try", () => assert.ok(requests.length >= 200, String(requests.length)));

  for (const way of ["dialled", "tunnelled"] as const) {
    test(`is refused each of them, ${way}`, async () => {
      await using lane = await openLane(provider, way);
      const passed: string[] = [];
      for (const request of requests) {
        const status = await lane.send(request);
        if (!(status >= 400 && status < 500)) passed.push(`${status} ${request.line.slice(0, 120)}`);
      }
      assert.deepEqual(passed, []);
      assert.equal(await everything(), untouched);
    });
  }

  test("hides no second request in a first", async () => {
    const { rival } = provider;
    const hidden = `GET /kube/api/v1/namespaces/${provider.twinOf(rival)}/secrets HTTP/1.1\r\nhost: x\r\n\r\n`;
    const own = `/kube/api/v1/namespaces/${provider.twinOf(provider.consumer)}/configmaps`;
    const head = (lines: string) =>
      `POST ${own} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${lines}\r\n\r\n`;
    for (const bytes of [
      `${head("content-length: 4\r\ntransfer-encoding: chunked")}0\r\n\r\n${hidden}`,
      `${head("transfer-encoding: chunked\r\ncontent-length: 4")}0\r\n\r\n${hidden}`,
      head("content-length: 0\r\ncontent-length: 40") + hidden,
      `${head("transfer-encoding: xchunked")}0\r\n\r\n${hidden}`,
      `${head("transfer-encoding : chunked")}0\r\n\r\n${hidden}`,
      `${head("transfer-encoding: chunked, identity")}0\r\n\r\n${hidden}`,
      `${head("content-length: +4")}abcd${hidden}`,
      `${head("transfer-encoding: chunked")}fffffffffffffffff\r\n${hidden}`,
      `GET ${own}\r\n HTTP/1.1\r\nhost: x\r\n\r\n`,
      `GET ${own} HTTP/1.1\nhost: x\nimpersonate-user: admin\n\n`,
      `GET ${own} HTTP/1.1\r\nhost: x\r\nx: y\rimpersonate-user: admin\r\n\r\n`,
      `GET ${own} HTTP/0.9\r\n\r\n`,
      `GET http://elsewhere${own} HTTP/1.1\r\nhost: x\r\n\r\n`,
      `CONNECT kubernetes.default:443 HTTP/1.1\r\nhost: kubernetes.default:443\r\n\r\n`,
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ]) {
      const socket = await provider.consumer.tls.connect(provider.endpoint, provider.site.id);
      socket.on("error", () => {}).write(bytes.replace("host: x", `host: x\r\nuser-agent: ${MARK}`));
      socket.end();
      let answer = "";
      for await (const chunk of socket) answer += chunk;
      const statuses = [...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
      assert.ok(
        statuses.every((status) => status >= 400 && status < 500),
        `${statuses} for ${JSON.stringify(bytes.slice(0, 200))}`,
      );
      assert.ok(!answer.includes("SecretList"));
    }
  });

  test("sees of the whole only what is labelled as its own, whatever selector it sends", async () => {
    await using lane = await openLane(provider, "dialled");
    const label = "fjord.dev/consumer";
    for (const selector of [
      "",
      "!fjord.dev/consumer",
      `${label}=${provider.rival.id}`,
      `${label}!=${provider.consumer.id}`,
      `${label} in (${provider.consumer.id},${provider.rival.id})`,
      `${label} notin (x)`,
      "a!=b",
      "a notin (b)",
      ",",
      "()",
    ]) {
      for (const fields of ["", "&fieldSelector=metadata.namespace%3Ddefault", "&limit=1"]) {
        const line = `GET /api/v1/secrets?labelSelector=${encodeURIComponent(selector)}${fields}`;
        const { status, body } = await lane.ask({ line });
        assert.ok(status === 200 || status === 400, `${status} ${line}`);
        const items: { metadata: { namespace: string } }[] = status === 200 ? JSON.parse(body).items : [];
        const namespaces = new Set(items.map(({ metadata }) => metadata.namespace));
        namespaces.delete(provider.twinOf(provider.consumer));
        assert.deepEqual([...namespaces], [], line);
      }
    }
  });

  test("has, by the API server's own record, done nothing outside", async () => {
    const events = (await audit()).filter(({ userAgent }) => userAgent?.startsWith(MARK));
    const { consumer } = provider;
    const own = [provider.twinOf(consumer), `fjord-tenant-${consumer.id}`];
    const outside = events.filter(({ responseStatus, objectRef, impersonatedUser, verb, requestURI }) => {
      if ((responseStatus?.code ?? 0) >= 400) return false;
      if (impersonatedUser !== undefined)
        return impersonatedUser.username.split(":")[2] !== own[1] || !own.includes(objectRef?.namespace ?? "");
      const selector = new URL(requestURI, "https://x").searchParams.getAll("labelSelector");
      const narrowed = selector.length === 1 && selector[0]?.split(",")[0] === `fjord.dev/consumer=${consumer.id}`;
      return !narrowed || (verb !== "list" && verb !== "watch");
    });
    assert.deepEqual(outside, []);
    assert.ok(events.length > 0, "the record has nothing of this test");
  });
});

/** What the provider knows of its addresses: a node, by the word of a test, and Services, by the API's. */
async function startAddresses({ site }: SharedTestSite) {
  const client = new KubeClient(site.config);
  await installKinds(client);
  const caches = new SharedCaches({ ...means, client });
  const node = { spec: { podCIDRs: ["10.42.0.0/24"] }, status: { addresses: [{ address: "192.168.7.4" }] } };
  const own = {
    object: () => undefined,
    nodes: () => [node as unknown as Node],
    knowsNodes: () => true,
    onChange: () => () => {},
  };
  const ranges = await serviceRanges(client);
  const home = { caches, clock: means.clock };
  const known = new KnownTenantAddresses({ home, own, serviceRanges: ranges, isLinked: () => false });
  const stop = new AbortController();
  const running = caches.run(stop.signal);
  while (!known.isKnown()) await sleep(means.clock, 20);
  const api = await client.get(Service, { name: "kubernetes", namespace: "default" });
  return {
    known,
    api: api.spec?.clusterIP ?? "",
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
      await client[Symbol.asyncDispose]();
    },
  };
}

/** What a consumer has by right, to be changed into what it may not have. */
async function makeHarmless(client: KubeClient, namespace: string): Promise<void> {
  const metadata = { name: "harmless", namespace };
  await client.create(EndpointSlice, {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata,
    addressType: "IPv4",
    endpoints: [{ addresses: ["203.0.113.5"] }],
    ports: [{ name: "http", port: 80 }],
  });
  const spec = { ports: [{ port: 80 }] };
  await client.create(Service, { apiVersion: "v1", kind: "Service", metadata, spec });
}

interface Lane extends AsyncDisposable {
  send(request: EscapeRequest): Promise<number>;
  ask(request: EscapeRequest): Promise<{ status: number; body: string }>;
}

/** Sends requests byte by byte as they are written down, each over a connection of its own. */
async function openLane(provider: TestProvider, way: "dialled" | "tunnelled"): Promise<Lane> {
  const consumer = way === "tunnelled" ? await provider.consume(way) : undefined;
  const connect = (): Promise<Duplex> =>
    consumer === undefined
      ? provider.consumer.tls.connect(provider.endpoint, provider.site.id)
      : consumer.parked.take(provider.site.id);
  const ask = async ({ line, headers = {}, body }: EscapeRequest) => {
    const socket = await connect();
    const content = body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body);
    const space = line.indexOf(" ");
    const all: Record<string, string> = { host: "x", "user-agent": MARK, connection: "close", ...headers };
    if (headers.Connection !== undefined) delete all.connection;
    if (content !== undefined) all["content-length"] = String(Buffer.byteLength(content));
    const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.on("error", () => {});
    socket.write(
      `${line.slice(0, space)} /kube${line.slice(space + 1)} HTTP/1.1\r\n${head.join("")}\r\n${content ?? ""}`,
    );
    return await answerOf(socket);
  };
  return {
    ask,
    send: async (request) => (await ask(request)).status,
    async [Symbol.asyncDispose]() {
      await consumer?.[Symbol.asyncDispose]();
    },
  };
}

async function answerOf(socket: Duplex): Promise<{ status: number; body: string }> {
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk;
    // A watch that was let through would never end.
    if (/^HTTP\/1\.1 [123]/.test(text) && /transfer-encoding: chunked/i.test(text) && text.includes("watch"))
      socket.destroy();
  });
  await new Promise((resolve) => socket.once("close", resolve));
  const [head = "", ...rest] = text.split("\r\n\r\n");
  const body = /transfer-encoding: chunked/i.test(head) ? unchunk(rest.join("\r\n\r\n")) : rest.join("\r\n\r\n");
  return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1] ?? 0), body };
}

function unchunk(text: string): string {
  let rest = text;
  let body = "";
  for (;;) {
    const end = rest.indexOf("\r\n");
    const size = Number.parseInt(rest.slice(0, end), 16);
    if (!(size > 0)) return body;
    body += rest.slice(end + 2, end + 2 + size);
    rest = rest.slice(end + 2 + size + 2);
  }
}
