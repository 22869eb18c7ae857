import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { TLSSocket } from "node:tls";
import { Authority, type KeyPair } from "@fjord/testbed";
import type { ClusterConfig } from "../config/cluster-config.ts";
import type { HttpRequest } from "./http.ts";
import { reply, type TestServer, testServer } from "./test-server.ts";
import { Transport } from "./transport.ts";

const get: HttpRequest = { method: "GET", path: "/api", action: "get /api" };
const now = Date.now();
let directory: string;
let authority: Authority;
let server: TestServer;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), "fjord-transport-"));
  authority = await Authority.create(directory, "test authority", now);
  const request = { commonName: "api", dnsNames: ["api.internal"], addresses: ["127.0.0.1"] };
  const { certificate: cert, key } = await authority.issue(request, now);
  const tls = { cert, key, ca: authority.certificate, requestCert: true, rejectUnauthorized: false };
  server = await testServer((received, response) => {
    const socket = received.socket as TLSSocket;
    const user = socket.getPeerCertificate().subject?.CN ?? "nobody";
    reply(response, 200, { user, name: socket.servername, protocol: socket.alpnProtocol });
  }, tls);
});

after(async () => {
  await server[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

function transportTo(tls: ClusterConfig["tls"], config: Partial<ClusterConfig> = {}) {
  return new Transport({ server: server.url, namespace: "default", tls, ...config });
}

async function ask(transport: Transport): Promise<{ user: string; name: string | false; protocol: string }> {
  const { body } = await transport.request(get);
  return JSON.parse(body.toString());
}

function client(name: string): Promise<KeyPair> {
  return authority.issue({ commonName: name, usages: ["client"] }, now);
}

test("trusts the configured authority and shows the client certificate, over HTTP/1.1", async () => {
  const { certificate: cert, key } = await client("ann");
  await using transport = transportTo({ ca: authority.certificate, cert, key });
  assert.deepEqual(await ask(transport), { user: "ann", name: false, protocol: "http/1.1" });
});

test("refuses a server that an unknown authority vouches for, unless told not to look", async () => {
  await using strict = transportTo({});
  await assert.rejects(ask(strict), { name: "ConnectionError", message: /certificate/, sent: false });
  await using lax = transportTo({ insecureSkipVerify: true });
  assert.equal((await ask(lax)).user, "nobody");
});

test("expects the configured server name", async () => {
  await using right = transportTo({ ca: authority.certificate, serverName: "api.internal" });
  assert.equal((await ask(right)).name, "api.internal");
  await using wrong = transportTo({ ca: authority.certificate, serverName: "other.internal" });
  await assert.rejects(ask(wrong), { name: "ConnectionError", message: /other\.internal/ });
});

test("follows a plugin's client certificate when it changes", async () => {
  const pairs = [await client("old"), await client("new")];
  let index = 0;
  const credentials = {
    current: async () => ({ cert: pairs[index]?.certificate, key: pairs[index]?.key }),
    rejected() {},
  };
  await using transport = transportTo({ ca: authority.certificate }, { credentials });
  assert.equal((await ask(transport)).user, "old");
  assert.equal((await ask(transport)).user, "old");
  const before = server.sockets.length;
  index = 1;
  assert.equal((await ask(transport)).user, "new");
  assert.equal(server.sockets.length, before + 1);
});

test("requests under way keep the certificate that they began with", async () => {
  const pairs = await Promise.all(["a", "b", "c", "d"].map(client));
  let calls = 0;
  const credentials = {
    async current() {
      const pair = pairs[calls++ % pairs.length];
      return { cert: pair?.certificate, key: pair?.key };
    },
    rejected() {},
  };
  await using transport = transportTo({ ca: authority.certificate }, { credentials });
  const answers = await Promise.all(Array.from({ length: 12 }, () => ask(transport)));
  assert.deepEqual(answers.map(({ user }) => user).join(""), "abcdabcdabcd");
});

test("a connection resumes the TLS session of the one before", async () => {
  const resumed: boolean[] = [];
  // Asked at once: a socket that has ended no longer knows.
  const see = (socket: TLSSocket) => resumed.push(socket.isSessionReused());
  server.server.on("secureConnection", see);
  await using transport = transportTo({ ca: authority.certificate });
  const { stream } = await transport.stream(get);
  await stream?.next();
  await ask(transport);
  server.server.off("secureConnection", see);
  assert.deepEqual(resumed, [false, true]);
  await stream?.return();
});

test("says so when a certificate or key cannot be used", async () => {
  const [one, other] = [await client("one"), await client("other")];
  for (const pair of [
    { cert: "nonsense", key: one.key },
    { cert: one.certificate, key: other.key },
  ]) {
    const credentials = { current: async () => pair, rejected() {} };
    await using transport = transportTo({ ca: authority.certificate }, { credentials });
    await assert.rejects(ask(transport), { code: "KUBE_UNUSABLE_CERTIFICATE" });
  }
});

test("tunnels through a proxy, with the server's certificate still checked", async () => {
  const asked: string[] = [];
  await using proxy = await testServer((_, response) => reply(response, 500, {}));
  proxy.server.on("connect", (request: { url: string }, socket: Socket) => {
    asked.push(request.url);
    const far = connect(server.port, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      socket.pipe(far).pipe(socket);
    });
  });
  const ca = authority.certificate;
  await using transport = transportTo({ ca }, { server: "https://api.internal:6443", proxy: proxy.url });
  const { stream } = await transport.stream(get);
  assert.match((await stream?.next())?.value?.toString() ?? "", /api.internal/);
  await stream?.return();
  assert.equal((await ask(transport)).name, "api.internal");
  assert.deepEqual(asked, ["api.internal:6443", "api.internal:6443"]);
  await using wrong = transportTo({ ca }, { server: "https://other.internal:6443", proxy: proxy.url });
  await assert.rejects(ask(wrong), { name: "ConnectionError" });
});
