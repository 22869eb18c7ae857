import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type { Secret } from "@fjord/kube";
import { TestCluster } from "../test-cluster.ts";
import { generateKey } from "./authority.ts";
import { bootstrapTokens } from "./bootstrap-token.ts";
import { claimsOf } from "./json-web-token.ts";
import { ServiceAccountTokens } from "./service-account-token.ts";
import { anyTokenAuthenticator } from "./token-authenticator.ts";

const key = await generateKey();
const api = "https://kubernetes.default.svc.cluster.local";

describe("tokens of service accounts", () => {
  let cluster: TestCluster;
  let tokens: ServiceAccountTokens;
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "web", namespace: "shop", uid: "u1" } };
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "p", namespace: "shop", uid: "p1" } };
  const order = { account, audiences: [api], seconds: 3600 };

  beforeEach(() => {
    cluster = new TestCluster();
    cluster.put(account);
    tokens = new ServiceAccountTokens({ cluster, key });
  });

  it("tell who their account is", () => {
    const token = tokens.issue(order);
    const owner = tokens.authenticateToken(token);
    assert.equal(owner?.caller.user, "system:serviceaccount:shop:web");
    assert.equal(owner?.caller.uid, "u1");
    assert.deepEqual(owner?.caller.groups, ["system:serviceaccounts", "system:serviceaccounts:shop"]);
    assert.deepEqual(owner?.audiences, [api]);
    const { jti } = claimsOf(token) ?? {};
    assert.deepEqual(owner?.caller.extra, { "authentication.kubernetes.io/credential-id": [`JTI=${jti}`] });
  });

  it("expire, with a minute for clocks that differ", async () => {
    const token = tokens.issue({ ...order, seconds: 600 });
    await cluster.clock.advance(659_000);
    assert.ok(tokens.authenticateToken(token));
    await cluster.clock.advance(2_000);
    assert.throws(() => tokens.authenticateToken(token), /^Error: service account token has expired$/);
  });

  it("end with their account, also when another takes its name", () => {
    const token = tokens.issue(order);
    cluster.remove(account);
    assert.throws(() => tokens.authenticateToken(token), /serviceaccounts "web" not found/);
    cluster.put({ ...account, metadata: { ...account.metadata, uid: "u2" } });
    assert.throws(() => tokens.authenticateToken(token), /service account UID \(u2\) does not match claim \(u1\)/);
  });

  it("end with the pod that they are bound to, and name it and its node", async () => {
    cluster.put(pod);
    const node = { name: "n", uid: "n1" };
    const token = tokens.issue({ ...order, pod: { name: "p", uid: "p1" }, node });
    const { "authentication.kubernetes.io/credential-id": _, ...extra } =
      tokens.authenticateToken(token)?.caller.extra ?? {};
    assert.deepEqual(extra, {
      "authentication.kubernetes.io/pod-name": ["p"],
      "authentication.kubernetes.io/pod-uid": ["p1"],
      "authentication.kubernetes.io/node-name": ["n"],
      "authentication.kubernetes.io/node-uid": ["n1"],
    });
    const deletionTimestamp = new Date(cluster.clock.now()).toISOString();
    cluster.put({ ...pod, metadata: { ...pod.metadata, deletionTimestamp } });
    assert.ok(tokens.authenticateToken(token));
    await cluster.clock.advance(61_000);
    assert.throws(() => tokens.authenticateToken(token), /service account token has been invalidated/);
    cluster.remove(pod);
    assert.throws(() => tokens.authenticateToken(token), /service account token has been invalidated/);
  });

  it("are for their audiences only", () => {
    const token = tokens.issue({ ...order, audiences: ["vault", "db"] });
    assert.throws(() => tokens.authenticateToken(token), {
      message: `token audiences ["vault" "db"] is invalid for the target audiences ["${api}"]`,
    });
    assert.deepEqual(tokens.authenticateToken(token, ["db", "x"])?.audiences, ["db"]);
  });

  it("are refused when forged, also after the real one was seen", async () => {
    const token = tokens.issue(order);
    tokens.authenticateToken(token);
    const other = new ServiceAccountTokens({ cluster, key: await generateKey() });
    assert.throws(() => tokens.authenticateToken(other.issue(order)), /error in cryptographic primitive/);
    const [header, , signature] = token.split(".");
    const claims = { ...claimsOf(token), sub: "system:serviceaccount:kube-system:x" };
    const forged = `${header}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.${signature}`;
    assert.throws(() => tokens.authenticateToken(forged), /error in cryptographic primitive/);
    const none = `${Buffer.from('{"alg":"none"}').toString("base64url")}.${token.split(".")[1]}.`;
    assert.throws(() => tokens.authenticateToken(none), /error in cryptographic primitive/);
    for (const text of ["", "a.b.c", "x", `${token}.x`, "....", "a.bnVsbA.c"]) {
      assert.equal(tokens.authenticateToken(text), undefined, text);
    }
  });

  it("hold as long as the Secret that they lie in", () => {
    const token = tokens.issueForSecret(account, "s");
    const data = { token: Buffer.from(token).toString("base64") };
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "s", namespace: "shop" }, data };
    assert.throws(() => tokens.authenticateToken(token), /Token has been invalidated/);
    cluster.put(secret);
    assert.equal(tokens.authenticateToken(token)?.caller.user, "system:serviceaccount:shop:web");
    cluster.put({ ...secret, data: { token: "" } });
    assert.throws(() => tokens.authenticateToken(token), /Token does not match server's copy/);
  });
});

describe("bootstrap tokens", () => {
  const text = (value: string) => Buffer.from(value).toString("base64");
  const data = (more: Record<string, string> = {}) => {
    const all = {
      "token-id": "abcdef",
      "token-secret": "0123456789abcdef",
      "usage-bootstrap-authentication": "true",
      "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
      ...more,
    };
    return Object.fromEntries(Object.entries(all).map(([name, value]) => [name, text(value)]));
  };
  const secret = (more?: Record<string, string>): Secret => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "bootstrap-token-abcdef", namespace: "kube-system" },
    type: "bootstrap.kubernetes.io/token",
    data: data(more),
  });
  const ask = (object: Secret, token = "abcdef.0123456789abcdef") => {
    const cluster = new TestCluster();
    cluster.put(object);
    return bootstrapTokens(cluster).authenticateToken(token)?.caller;
  };

  it("name their bearer and its groups", () => {
    assert.deepEqual(ask(secret()), {
      user: "system:bootstrap:abcdef",
      groups: ["system:bootstrappers", "system:bootstrappers:kubeadm:default-node-token"],
    });
  });

  it("hold only as their Secret says", () => {
    assert.equal(ask(secret(), "abcdef.0123456789abcdeX"), undefined);
    assert.equal(ask(secret(), "abcdef.0123456789abcde0"), undefined);
    assert.equal(ask(secret(), "zzzzzz.0123456789abcdef"), undefined);
    assert.equal(ask({ ...secret(), type: "Opaque" }), undefined);
    assert.equal(ask(secret({ "usage-bootstrap-authentication": "yes" })), undefined);
    assert.equal(ask(secret({ expiration: "2029-12-31T00:00:00Z" })), undefined);
    assert.equal(ask(secret({ expiration: "soon" })), undefined);
    assert.ok(ask(secret({ expiration: "2030-01-02T00:00:00Z" })));
    assert.equal(ask(secret({ "auth-extra-groups": "system:masters" })), undefined);
  });
});

describe("several kinds of tokens", () => {
  it("are asked in turn, and all that is wrong is told", () => {
    const fails = (text: string) => ({
      authenticateToken: () => {
        throw new Error(text);
      },
    });
    const knows = { authenticateToken: () => ({ caller: { user: "x", groups: [] } }) };
    const no = { authenticateToken: () => undefined };
    assert.equal(anyTokenAuthenticator([fails("a"), no, knows]).authenticateToken("t")?.caller.user, "x");
    assert.equal(anyTokenAuthenticator([no, no]).authenticateToken("t"), undefined);
    assert.throws(() => anyTokenAuthenticator([fails("a"), no]).authenticateToken("t"), { message: "a" });
    assert.throws(() => anyTokenAuthenticator([fails("a"), fails("b")]).authenticateToken("t"), { message: "[a, b]" });
  });
});
