import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Home } from "../home.ts";
import { KnownAddresses } from "./known-addresses.ts";
import { ProxiedAddresses } from "./proxy/proxied-addresses.ts";

const [linked, unlinked] = ["a".repeat(26), "b".repeat(26)];

/** A site of whose own addresses those in 10.42.0.0/16 are known, with a link to one of two peers. */
function home(): Pick<Home, "caches"> {
  const plan = { spec: { site: linked, own: [], peer: [{ range: "10.42.0.0/16", called: "100.64.0.0/16" }] } };
  const get = ({ name }: { name: string }) => (name === linked ? plan : undefined);
  return { caches: { open: () => ({ cache: { get } }) } } as unknown as Pick<Home, "caches">;
}

describe("what a provider says that its pods are called", () => {
  const mayHave = (_: string, address: string) => !address.startsWith("10.42.");
  const addresses = new KnownAddresses(home(), mayHave);

  it("is an address of this site's own only by the words of a plan", () => {
    assert.equal(addresses.calledHere(linked, "10.42.0.7"), "100.64.0.7");
    assert.equal(addresses.calledHere(unlinked, "10.42.0.7"), undefined);
    assert.equal(addresses.calledHere(unlinked, "10.43.0.7"), "10.43.0.7");
  });

  it("is no address of this machine's network either, where pods are processes", () => {
    const proxied = new ProxiedAddresses(home(), mayHave);
    assert.equal(proxied.calledHere(unlinked, "10.42.0.7"), undefined);
    assert.equal(proxied.calledHere(unlinked, "10.43.0.7"), "10.43.0.7");
  });
});
