import assert from "node:assert/strict";
import { test } from "node:test";
import { isSecretName } from "./secret-names.ts";

test("names of secrets are told from others", () => {
  for (const name of "password DB_PASS dbPassword PGPASSWORD pwd secret_key AWS_SECRET_ACCESS_KEY client-key-data x.io/token api-key apiKey STRIPE_KEY signing.key ssh_key_1 Cookie authorization jwt BASIC_AUTH psk".split(
    " ",
  ))
    assert.ok(isSecretName(name), name);
  for (const name of "key keys publicKey topologyKey keyId keyboard monkey passed bypass compass author name hostKey pinned".split(
    " ",
  ))
    assert.ok(!isSecretName(name), name);
});
