import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type { KubeObject } from "@fjord/base";
import { TestCluster } from "../test-cluster.ts";
import { generateKey } from "./authority.ts";
import { identityReviews } from "./identity-reviews.ts";
import { claimsOf } from "./json-web-token.ts";
import { ServiceAccountTokens } from "./service-account-token.ts";
import { requestToken } from "./token-request.ts";

const key = await generateKey();
const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "web", namespace: "shop", uid: "u1" } };
const caller = { user: "jane", groups: ["system:authenticated"] };
let cluster: TestCluster;
let tokens: ServiceAccountTokens;

beforeEach(() => {
  cluster = new TestCluster();
  cluster.put(account);
  tokens = new ServiceAccountTokens({ cluster, key });
});

type Answered = KubeObject & { spec: Record<string, unknown>; status: Record<string, unknown> };

describe("a request for a token", () => {
  const request = (spec?: object, metadata: object = {}) =>
    requestToken(tokens)({
      cluster,
      namespace: "shop",
      name: "web",
      body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", metadata, spec } as KubeObject,
    }) as Promise<Answered>;

  it("is answered with one that the cluster knows", async () => {
    const { spec, status, metadata } = await request({});
    assert.deepEqual(spec, { audiences: tokens.audiences, expirationSeconds: 3600, boundObjectRef: null });
    assert.equal(status.expirationTimestamp, "2030-01-01T01:00:00Z");
    assert.equal(metadata.name, "web");
    assert.ok(tokens.authenticateToken(String(status.token)));
  });

  it("is refused for too short, too long or somebody else", async () => {
    await assert.rejects(request({ expirationSeconds: 599 }), {
      code: 422,
      message:
        'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes',
    });
    await assert.rejects(request({ expirationSeconds: 2 ** 32 + 1 }), /larger than 2\^32 seconds/);
    await assert.rejects(request({}, { name: "other" }), /must match the service account name if specified/);
    await assert.rejects(request({}, { uid: "u2" }), { code: 409 });
    cluster.remove(account);
    await assert.rejects(request({}), { code: 404, message: 'serviceaccounts "web" not found' });
  });

  it("may bind it to a pod of the account, and then tells the pod's node", async () => {
    const pod = (serviceAccountName: string) =>
      cluster.put({
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "p", namespace: "shop", uid: "p1" },
        spec: { serviceAccountName, nodeName: "n" },
      } as KubeObject);
    const bound = (more: object = {}) =>
      request({ boundObjectRef: { apiVersion: "v1", kind: "Pod", name: "p", ...more } });
    await assert.rejects(bound(), { code: 404, message: 'pods "p" not found' });
    pod("other");
    await assert.rejects(bound(), { code: 400 });
    pod("web");
    await assert.rejects(bound({ uid: "x" }), { code: 409 });
    const { status } = await bound({ uid: "p1" });
    const { "kubernetes.io": claims } = claimsOf(String(status.token)) as { "kubernetes.io": Record<string, unknown> };
    assert.deepEqual([claims.pod, claims.node], [{ name: "p", uid: "p1" }, { name: "n" }]);
    await assert.rejects(request({ boundObjectRef: { apiVersion: "v1", kind: "ConfigMap", name: "x" } }), {
      code: 400,
      message: "cannot bind token to object of type /v1, Kind=ConfigMap",
    });
  });

  it("of a kubelet for a pod's volume gets a year, and a note of when it should have been renewed", async () => {
    const spec = { serviceAccountName: "web" };
    cluster.put({ apiVersion: "v1", kind: "Pod", metadata: { name: "p", namespace: "shop" }, spec } as KubeObject);
    const { status } = await request({
      expirationSeconds: 3607,
      boundObjectRef: { apiVersion: "v1", kind: "Pod", name: "p" },
    });
    assert.equal(status.expirationTimestamp, "2030-01-01T01:00:07Z");
    const claims = claimsOf(String(status.token)) as {
      exp: number;
      iat: number;
      "kubernetes.io": { warnafter: number };
    };
    assert.equal(claims.exp - claims.iat, 365 * 24 * 3600);
    assert.equal(claims["kubernetes.io"].warnafter - claims.iat, 3607);
  });
});

describe("reviews of who somebody is", () => {
  const ask = async (kind: string, spec: object = {}) => {
    const reviews = identityReviews({ tokens, audiences: tokens.audiences, now: () => cluster.clock.now() });
    const body = { apiVersion: "authentication.k8s.io/v1", kind, metadata: {}, spec };
    return (await reviews[kind]?.({ body, caller, namespace: "" })) as Answered;
  };

  it("tell whose token it is, and for whom", async () => {
    const token = tokens.issue({ account, audiences: ["db", tokens.issuer], seconds: 600 });
    const { status } = await ask("TokenReview", { token });
    assert.equal(status.authenticated, true);
    assert.deepEqual(status.audiences, [tokens.issuer]);
    const { username, groups } = status.user as Record<string, unknown>;
    assert.equal(username, "system:serviceaccount:shop:web");
    assert.deepEqual(groups, ["system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"]);
    assert.deepEqual((await ask("TokenReview", { token, audiences: ["db", "x"] })).status.audiences, ["db"]);
  });

  it("say what is wrong with it", async () => {
    assert.deepEqual((await ask("TokenReview", { token: "foo" })).status, { user: {}, error: "invalid bearer token" });
    const token = tokens.issue({ account, audiences: ["db"], seconds: 600 });
    assert.deepEqual((await ask("TokenReview", { token })).status, {
      user: {},
      error: `[invalid bearer token, token audiences ["db"] is invalid for the target audiences ["${tokens.issuer}"]]`,
    });
    await assert.rejects(ask("TokenReview"), { code: 400 });
  });

  it("tell the caller who he is", async () => {
    assert.deepEqual(await ask("SelfSubjectReview"), {
      apiVersion: "authentication.k8s.io/v1",
      kind: "SelfSubjectReview",
      metadata: { creationTimestamp: "2030-01-01T00:00:00Z" },
      status: { userInfo: { username: "jane", groups: ["system:authenticated"] } },
    });
  });
});
