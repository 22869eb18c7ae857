import assert from "node:assert/strict";
import { test } from "node:test";
import type { Secret } from "@fjord/kube";
import { credentialsFor } from "./registry-credentials.ts";

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64");

function secret(auths: Record<string, unknown>): Secret {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "s" },
    type: "kubernetes.io/dockerconfigjson",
    data: { ".dockerconfigjson": encode({ auths }) },
  };
}

const auth = Buffer.from("me:pass:word").toString("base64");

test("credentials are taken for the image's registry alone", () => {
  const secrets = [secret({ "registry.example.com": { auth }, "other.example.com": { auth } })];
  assert.deepEqual(credentialsFor("registry.example.com/a:1", secrets), [
    { serverAddress: "registry.example.com", username: "me", password: "pass:word" },
  ]);
  assert.deepEqual(credentialsFor("third.example.com/a", secrets), []);
});

test("Docker's own registry has many names", () => {
  assert.equal(credentialsFor("busybox", [secret({ "https://index.docker.io/v1/": { auth } })]).length, 1);
  assert.equal(credentialsFor("docker.io/a/b", [secret({ "docker.io": { auth } })]).length, 1);
});

test("the address that says most goes first, and asterisks stand for a label", () => {
  const entry = (username: string) => ({ username, password: "p" });
  const found = credentialsFor("r.example.com/team/app", [
    secret({
      "*.example.com": entry("glob"),
      "r.example.com/team": entry("path"),
      "r.example.com/other": entry("no"),
      "example.com": entry("no"),
    }),
  ]);
  assert.deepEqual(
    found.map(({ username }) => username),
    ["path", "glob"],
  );
});

test("old secrets are read, broken ones have nothing to give", () => {
  const old: Secret = { ...secret({}), data: { ".dockercfg": encode({ "r.io": { username: "u", password: "p" } }) } };
  const broken: Secret = { ...secret({}), data: { ".dockerconfigjson": "bm8ganNvbg==" } };
  assert.deepEqual(credentialsFor("r.io/a", [broken, old]), [{ serverAddress: "r.io", username: "u", password: "p" }]);
});
