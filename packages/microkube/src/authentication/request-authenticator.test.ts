import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { createServer, request as send } from "node:https";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { systemClock } from "@fjord/base";
import type { Caller } from "../cluster.ts";
import { Authority, type CertificatePair } from "./authority.ts";
import { ClientCertificates } from "./client-certificate.ts";
import { ClusterCredentials } from "./cluster-credentials.ts";
import { FrontProxy, remoteHeaders } from "./front-proxy.ts";
import { ANONYMOUS, bearerToken, RequestAuthenticator } from "./request-authenticator.ts";

const clock = systemClock;
const credentials = await ClusterCredentials.open({ clock });
const tokens = {
  authenticateToken: (token: string) => (token === "good" ? { caller: { user: "bot", groups: [] } } : undefined),
};
const authenticator = new RequestAuthenticator({
  frontProxy: new FrontProxy({ authority: credentials.frontProxyCa, clock, allowedNames: ["front-proxy-client"] }),
  certificates: new ClientCertificates({ authority: credentials.clusterCa, clock }),
  tokens,
});
const server = createServer(
  { ...credentials.server, requestCert: true, rejectUnauthorized: false },
  (request, response) =>
    authenticator.authenticate(request).then(
      (caller) => response.end(JSON.stringify(caller)),
      (error) => response.writeHead(error.code).end("{}"),
    ),
);

type Headers = Record<string, string | string[]>;

function ask(pair?: CertificatePair, headers: Headers = {}): Promise<Caller | number> {
  const { port } = server.address() as AddressInfo;
  const ca = credentials.clusterCa.certificate;
  return new Promise((resolve, reject) => {
    send({ port, host: "127.0.0.1", ca, ...pair, headers, agent: false }, async (response: IncomingMessage) => {
      const text = Buffer.concat(await response.toArray()).toString();
      resolve(response.statusCode === 200 ? JSON.parse(text) : (response.statusCode ?? 0));
    })
      .on("error", reject)
      .end();
  });
}

const userOf = (answer: Caller | number) => (typeof answer === "number" ? answer : answer.user);

describe("who makes a request", () => {
  before(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
  after(() => server.close());

  it("is told by a certificate of the cluster", async () => {
    const caller = (await ask(credentials.admin)) as Caller;
    assert.equal(caller.user, "kubernetes-admin");
    assert.deepEqual(caller.groups, ["system:masters", "system:authenticated"]);
    assert.match(caller.extra?.["authentication.kubernetes.io/credential-id"]?.[0] ?? "", /^X509SHA256=[0-9a-f]{64}$/);
  });

  it("is told by a bearer token", async () => {
    const bot = { user: "bot", groups: ["system:authenticated"] };
    assert.deepEqual(await ask(undefined, { authorization: "Bearer good" }), bot);
    assert.equal(await ask(undefined, { authorization: "Bearer bad" }), 401);
    assert.deepEqual(await ask(undefined, { authorization: "Basic Z29vZA==" }), ANONYMOUS);
    assert.deepEqual(await ask(undefined), ANONYMOUS);
  });

  it("is told by the certificate rather than by the token", async () => {
    assert.equal(userOf(await ask(credentials.admin, { authorization: "Bearer bad" })), "kubernetes-admin");
  });

  it("is not told by a stranger's, a server's or an expired certificate", async () => {
    const now = clock.now();
    const stranger = await ClusterCredentials.open({ clock });
    assert.equal(await ask(stranger.admin), 401);
    assert.equal(userOf(await ask(stranger.admin, { authorization: "Bearer good" })), "bot");
    assert.equal(await ask(credentials.server), 401);
    assert.equal(await ask(await credentials.issueClient({ commonName: "late" }, -1)), 401);
    assert.equal(await ask(await Authority.make("own", { from: now - 1000, to: now + 100_000 })), 401);
  });

  it("is what a front proxy says, and nobody else", async () => {
    const jane = { user: "jane", uid: "7", groups: ["a", "b"], extra: { "example.com/scope": ["x", "y"] } };
    const told = await ask(credentials.frontProxyClient, remoteHeaders(jane));
    assert.deepEqual(told, { ...jane, groups: ["a", "b", "system:authenticated"] });
    assert.equal(userOf(await ask(credentials.admin, remoteHeaders(jane))), "kubernetes-admin");
    assert.deepEqual(await ask(undefined, remoteHeaders(jane)), ANONYMOUS);
    assert.equal(await ask(credentials.frontProxyClient), 401);
  });
});

it("a token comes also among a WebSocket's protocols", () => {
  const protocol = `base64url.bearer.authorization.k8s.io.${Buffer.from("tök").toString("base64url")}`;
  const headers = { upgrade: "websocket", "sec-websocket-protocol": `v5.channel.k8s.io, ${protocol}` };
  assert.equal(bearerToken({ headers }), "tök");
  assert.equal(bearerToken({ headers: { "sec-websocket-protocol": protocol } }), undefined);
});
