import assert from "node:assert/strict";
import { createPublicKey, verify } from "node:crypto";
import { test } from "node:test";
import { TestApi } from "./test-api.ts";

test("whoever has a token finds where the keys are, and checks it by them", async () => {
  await using api = await TestApi.start();
  const accounts = "/api/v1/namespaces/default/serviceaccounts";
  await api.post(accounts, { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "me" } });
  const asked = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
  const { token } = (await api.post(`${accounts}/me/token`, asked)).body.status as { token: string };
  const [head = "", claims = "", signature = ""] = token.split(".");
  const { kid } = JSON.parse(Buffer.from(head, "base64url").toString());
  const { iss } = JSON.parse(Buffer.from(claims, "base64url").toString());

  const configuration = await api.get("/.well-known/openid-configuration");
  assert.equal(configuration.headers["content-type"], "application/json");
  assert.equal(configuration.headers["cache-control"], "public, max-age=3600");
  const { issuer, jwks_uri } = configuration.body as unknown as { issuer: string; jwks_uri: string };
  assert.deepEqual([issuer, jwks_uri], [iss, `${api.microkube.server}/openid/v1/jwks`]);

  const answer = await api.get(new URL(jwks_uri).pathname);
  assert.equal(answer.headers["content-type"], "application/jwk-set+json");
  const { keys } = answer.body as unknown as { keys: { kid: string }[] };
  const jwk = keys.find((one) => one.kid === kid);
  assert.ok(jwk);
  const key = createPublicKey({ key: jwk as never, format: "jwk" });
  const isTrue = verify(
    "sha256",
    Buffer.from(`${head}.${claims}`),
    { key, dsaEncoding: "ieee-p1363" },
    Buffer.from(signature, "base64url"),
  );
  assert.equal(isTrue, true);
});
