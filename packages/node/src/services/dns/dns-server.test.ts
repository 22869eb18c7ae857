import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import { after, before, describe, it } from "node:test";
import { silentLogger, systemClock } from "@fjord/base";
import type { EndpointSlice, Service } from "@fjord/kube";
import { freePort } from "@fjord/testbed/testing";
import fc from "fast-check";
import { testService, testSlice } from "../test-objects.ts";
import { DnsServer } from "./dns-server.ts";
import { formatAnswer, parseQuery } from "./message.ts";

const ADDRESS = "127.96.78.10";

const services: Service[] = [
  testService("web", { clusterIPs: ["127.96.0.7", "fd00::7"] }),
  testService("db", { clusterIP: "None", clusterIPs: ["None"] }),
  testService("outside", { type: "ExternalName", externalName: "example.org." }),
];
const endpoints = [
  { addresses: ["10.0.0.1"], hostname: "db-0", conditions: { ready: true } },
  { addresses: ["10.0.0.2"], conditions: { ready: true } },
  { addresses: ["10.0.0.3"], conditions: { ready: false } },
] as EndpointSlice["endpoints"];

describe("the cluster's names", () => {
  const stop = new AbortController();
  let running: Promise<void>;
  const resolver = new Resolver({ timeout: 20_000, tries: 1 });
  const upstream = createSocket("udp4");

  before(async () => {
    const port = await freePort();
    resolver.setServers([`${ADDRESS}:${port}`]);
    upstream.on("message", (message, { port, address }) => {
      const query = parseQuery(message);
      if (query === undefined) return;
      const { name } = query.question;
      const answers = [{ type: "A" as const, name, ttl: 1, address: "192.0.2.1" }];
      upstream.send(formatAnswer(query, { code: 0, answers }, 512), port, address);
    });
    await new Promise<void>((resolve) => upstream.bind(0, ADDRESS, resolve));
    const server = new DnsServer({
      address: ADDRESS,
      port,
      domain: "cluster.local",
      source: {
        service: (namespace, name) =>
          services.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
        slices: (_, name) => (name === "db" ? [testSlice("db", 5432, endpoints)] : []),
        hasNamespace: (name) => name === "shop",
        serviceAt: (ip) => (ip === "127.96.0.7" ? services[0] : undefined),
      },
      upstreams: [`${ADDRESS}:${upstream.address().port}`],
      clock: systemClock,
      logger: silentLogger,
    });
    running = server.run(stop.signal);
    await server.listening;
  });
  after(async () => {
    stop.abort();
    upstream.close();
    await running;
  });

  const fails = (code: string) => (error: unknown) => (error as { code?: string }).code === code;

  it("are a Service's addresses, of both families", async () => {
    assert.deepEqual(await resolver.resolve4("web.shop.svc.cluster.local"), ["127.96.0.7"]);
    assert.deepEqual(await resolver.resolve6("WEB.shop.svc.Cluster.local"), ["fd00::7"]);
  });

  it("are all ready endpoints of a headless one, and each by its name", async () => {
    assert.deepEqual((await resolver.resolve4("db.shop.svc.cluster.local")).sort(), ["10.0.0.1", "10.0.0.2"]);
    assert.deepEqual(await resolver.resolve4("db-0.db.shop.svc.cluster.local"), ["10.0.0.1"]);
    assert.deepEqual(await resolver.resolve4("10-0-0-2.db.shop.svc.cluster.local"), ["10.0.0.2"]);
  });

  it("come in another order each time", async () => {
    const firsts = new Set<string | undefined>();
    for (let i = 0; i < 4; i++) firsts.add((await resolver.resolve4("db.shop.svc.cluster.local"))[0]);
    assert.equal(firsts.size, 2);
  });

  it("tell ports", async () => {
    const [record] = await resolver.resolveSrv("_http._tcp.web.shop.svc.cluster.local");
    assert.deepEqual({ name: record?.name, port: record?.port }, { name: "web.shop.svc.cluster.local", port: 80 });
    const names = (await resolver.resolveSrv("_http._tcp.db.shop.svc.cluster.local")).map(
      ({ name, port }) => `${name}:${port}`,
    );
    assert.deepEqual(names.sort(), ["10-0-0-2.db.shop.svc.cluster.local:5432", "db-0.db.shop.svc.cluster.local:5432"]);
  });

  it("point elsewhere, and back from addresses", async () => {
    assert.deepEqual(await resolver.resolveCname("outside.shop.svc.cluster.local"), ["example.org"]);
    assert.deepEqual(await resolver.reverse("127.96.0.7"), ["web.shop.svc.cluster.local"]);
    assert.deepEqual(await resolver.resolve4("10-1-2-3.shop.pod.cluster.local"), ["10.1.2.3"]);
  });

  it("are not there, or have no such record, which are two things", async () => {
    await assert.rejects(resolver.resolve4("none.shop.svc.cluster.local"), fails("ENOTFOUND"));
    await assert.rejects(resolver.resolve4("web.other.svc.cluster.local"), fails("ENOTFOUND"));
    await assert.rejects(resolver.resolve6("db.shop.svc.cluster.local"), fails("ENODATA"));
    await assert.rejects(resolver.resolve4("shop.svc.cluster.local"), fails("ENODATA"));
  });

  it("are asked of others where they are not the cluster's", async () => {
    assert.deepEqual(await resolver.resolve4("example.com"), ["192.0.2.1"]);
  });

  it("are told of as not answered whatever is sent instead of a question", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
        const query = parseQuery(Buffer.from(bytes));
        if (query !== undefined) formatAnswer(query, { code: 0, answers: [] }, 512);
      }),
      { numRuns: 2_000 },
    );
  });

  it("are cut where they do not fit into a datagram", () => {
    const query = { id: 7, recursionDesired: true, opcode: 0, question: { name: "a.b", type: 1, class: 1 }, size: 512 };
    const answers = Array.from({ length: 100 }, (_, i) => ({
      type: "A" as const,
      name: "a.b",
      ttl: 5,
      address: `10.0.0.${i}`,
    }));
    const cut = formatAnswer(query, { code: 0, answers }, 512);
    assert.ok(cut.length <= 512 && (cut.readUInt16BE(2) & 0x0200) !== 0);
    assert.equal(formatAnswer(query, { code: 0, answers }, 65_535).readUInt16BE(6), 100);
  });
});
