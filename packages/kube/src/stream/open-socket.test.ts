import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect as connectTcp } from "node:net";
import { Duplex } from "node:stream";
import { describe, it } from "node:test";
import type { TLSSocket } from "node:tls";
import { KubeClient } from "../client/client.ts";
import type { Credentials } from "../config/cluster-config.ts";
import { clusterConfig, type DirectOptions } from "../config/direct-config.ts";
import { caPem, clientCertPem, clientKeyPem } from "../config/test-certificates.ts";
import { exec } from "./exec.ts";
import { startStreamServer, statusBody } from "./test-stream-server.ts";

const target = { namespace: "ns", pod: "web", command: ["true"] };

/** A server with TLS that notes whom it sees and ends every command with 0. */
async function secureServer() {
  const seen: { headers: IncomingMessage["headersDistinct"]; peer: string | undefined; serverName: unknown }[] = [];
  const server = await startStreamServer({
    tls: true,
    serve(stream) {
      const socket = stream.request.socket as TLSSocket;
      const peer = socket.getPeerCertificate()?.subject?.CN;
      seen.push({ headers: stream.request.headersDistinct, peer: [peer].flat()[0], serverName: socket.servername });
      stream.exit(0);
    },
  });
  const run = (options: Partial<DirectOptions>) =>
    exec(clusterConfig({ server: server.url, ca: caPem, ...options }), target);
  return Object.assign(server, { seen, run });
}

describe("a stream's connection", () => {
  it("trusts the configured authority, and no server of another", async () => {
    await using server = await secureServer();
    assert.deepEqual(await server.run({}), { exitCode: 0 });
    await assert.rejects(server.run({ ca: undefined }), /self-signed certificate/);
    assert.deepEqual(await server.run({ ca: undefined, insecureSkipVerify: true }), { exitCode: 0 });
  });

  it("expects the configured server name", async () => {
    await using server = await secureServer();
    await server.run({ serverName: "kubernetes" });
    assert.equal(server.seen[0]?.serverName, "kubernetes");
    await assert.rejects(server.run({ serverName: "other" }), /does not match certificate's altnames/);
  });

  it("shows the client certificate, from the configuration or from a plugin", async () => {
    await using server = await secureServer();
    await server.run({ cert: clientCertPem, key: clientKeyPem });
    const credentials = { current: async () => ({ cert: clientCertPem, key: clientKeyPem }), rejected() {} };
    await server.run({ credentials });
    assert.deepEqual(
      server.seen.map(({ peer }) => peer),
      ["test-client", "test-client"],
    );
  });

  it("sends the token and whom to act as, each group in its own header", async () => {
    await using server = await secureServer();
    await server.run({ token: "t", impersonate: { user: "zoë", groups: ["a", "b,c"] } });
    const headers = server.seen[0]?.headers;
    assert.deepEqual(headers?.authorization, ["Bearer t"]);
    assert.deepEqual(headers?.["impersonate-user"], [Buffer.from("zoë").toString("latin1")]);
    assert.deepEqual(headers?.["impersonate-group"], ["a", "b,c"]);
  });

  it("asks once for a new credential when the server refuses the old one", async () => {
    let generation = 0;
    const credentials: Credentials = {
      current: async () => ({ authorization: `Bearer ${generation}` }),
      rejected: () => void generation++,
    };
    const body = statusBody(401, "Unauthorized", "Unauthorized");
    await using server = await startStreamServer({
      refuse: (request) => (request.headers.authorization === "Bearer 1" ? undefined : { statusCode: 401, body }),
      serve: (stream) => stream.exit(0),
    });
    const config = clusterConfig({ server: server.url, credentials });
    assert.deepEqual(await exec(config, target), { exitCode: 0 });
    generation = 5;
    await assert.rejects(exec(config, target), { statusCode: 401, reason: "Unauthorized" });
    assert.equal(generation, 6);
  });

  it("goes through the proxy, with the proxy's own credentials", async () => {
    await using server = await secureServer();
    await using proxy = await startProxy("Basic dTpw");
    const config = { proxy: `http://u:p@127.0.0.1:${proxy.port}` };
    assert.deepEqual(await server.run(config), { exitCode: 0 });
    assert.deepEqual(proxy.targets, [`127.0.0.1:${server.port}`]);
    await assert.rejects(server.run({ proxy: `http://u:hunter2@127.0.0.1:${proxy.port}` }), (error: Error) => {
      const refused = `the proxy 127.0.0.1:${proxy.port} did not open a way to 127.0.0.1:${server.port}: it answered 407 Proxy Authentication Required`;
      assert.equal(error.message, `cannot run a command in Pod ns/web at ${server.url}: ${refused}`);
      return true;
    });
  });

  it("can be opened by the caller's own means", async () => {
    await using server = await secureServer();
    const dialled: string[] = [];
    const config = clusterConfig({ server: "https://kubernetes:6443", ca: caPem });
    const result = await exec(config, {
      ...target,
      async dial(host, port) {
        dialled.push(`${host}:${port}`);
        return connectTcp(server.port, "127.0.0.1");
      },
    });
    assert.deepEqual(result, { exitCode: 0 });
    assert.deepEqual(dialled, ["kubernetes:6443"]);
  });

  it("goes over a connection that the caller gives, with nothing more than HTTP on it", async () => {
    await using server = await startStreamServer({ serve: (stream) => stream.exit(0) });
    const connect = async () => {
      const socket = connectTcp(server.port, "127.0.0.1");
      await once(socket, "connect");
      return Duplex.from({ readable: socket, writable: socket });
    };
    const config = clusterConfig({ server: "https://far.example", ca: caPem, proxy: "http://nowhere.invalid" });
    assert.deepEqual(await exec(config, { ...target, connect }), { exitCode: 0 });
    await using client = new KubeClient(config, { connect });
    const result = await client.exec({ namespace: "ns", name: "web" }, { command: ["true"] });
    assert.deepEqual(result, { exitCode: 0 });
  });

  it("says when nobody listens", async () => {
    const gone = await startStreamServer({});
    await gone[Symbol.asyncDispose]();
    await assert.rejects(exec(clusterConfig({ server: gone.url }), target), {
      code: "KUBE_CONNECTION",
      message: `cannot run a command in Pod ns/web at ${gone.url}: connect ECONNREFUSED 127.0.0.1:${gone.port}`,
    });
  });

  it("shows what a proxy in between says in its own words", async () => {
    await using server = await startStreamServer({ refuse: () => ({ statusCode: 502, body: "<h1>Bad gateway</h1>" }) });
    await assert.rejects(exec(clusterConfig({ server: server.url }), target), {
      message: "cannot run a command in Pod ns/web: Bad gateway (502)",
    });
  });
});

/** A forward proxy that lets in whoever has the right credentials. */
async function startProxy(authorization: string) {
  const targets: string[] = [];
  const server = createServer();
  server.on("connect", (request: IncomingMessage, client) => {
    if (request.headers["proxy-authorization"] !== authorization) {
      return client.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
    }
    targets.push(request.url ?? "");
    const [host, port] = (request.url ?? "").split(":");
    const upstream = connectTcp(Number(port), host, () => {
      client.write("HTTP/1.1 200 OK\r\n\r\n");
      upstream.pipe(client).pipe(upstream);
    });
    upstream.on("error", () => client.destroy());
    client.on("error", () => upstream.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    targets,
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
