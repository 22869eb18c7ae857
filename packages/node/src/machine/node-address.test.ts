import assert from "node:assert/strict";
import { networkInterfaces } from "node:os";
import { test } from "node:test";
import { addressTowards } from "./node-address.ts";

test("the way to loopback is by loopback", async () => {
  assert.equal(await addressTowards("https://127.0.0.1:6443"), "127.0.0.1");
  assert.equal(await addressTowards("https://localhost:6443/path"), await addressTowards("https://localhost"));
});

const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
const outside = own.find(({ internal, family }) => !internal && family === "IPv4")?.address;

test("the way to one of the machine's own addresses is by it", { skip: outside === undefined }, async () => {
  assert.equal(await addressTowards(`https://${outside}:6443`), outside);
});

test("a server that cannot be found leaves any address of the machine", { skip: outside === undefined }, async () => {
  const found = await addressTowards("https://no.such.host.invalid:6443");
  assert.ok(
    own.some(({ address, internal }) => address === found && !internal),
    found,
  );
});
