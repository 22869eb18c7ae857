import assert from "node:assert/strict";
import { test } from "node:test";
import { IngressHosts, type IngressHostsOptions } from "./ingress-hosts.ts";

const [ana, bob] = ["a".repeat(26), "b".repeat(26)];
const ingress = (namespace: string, host: string) => ({ metadata: { namespace }, spec: { rules: [{ host }] } });

/** An API whose pages have one Ingress each. */
function provider(ingresses: object[], before: () => Promise<void> = async () => {}) {
  const list = async (_: unknown, { continue: from = "0" }: { continue?: string }) => {
    await before();
    const at = Number(from);
    const more = at + 1 < ingresses.length ? { continue: `${at + 1}` } : {};
    return { items: ingresses.slice(at, at + 1), metadata: more };
  };
  return new IngressHosts({
    client: { list } as unknown as IngressHostsOptions["client"],
    allowed: () => undefined,
    namespacesOf: (consumer) => [`shop-${consumer}`],
  });
}
const taken = { status: 403, message: /is taken at the provider by another's Ingress/ };

test("a host that the owner or another consumer has is refused, and one of the consumer's own is not", async () => {
  const all = [
    ingress("default", "www.example.com"),
    ingress(`shop-${bob}`, "bob.example.com"),
    ingress(`shop-${ana}`, "ana.example.com"),
  ];
  const hosts = provider(all);
  await assert.rejects(hosts.admit(ana, ["www.example.com"]), taken);
  await assert.rejects(hosts.admit(ana, ["new.example.com", "bob.example.com"]), taken);
  (await hosts.admit(ana, ["ana.example.com", "new.example.com"]))();
  await assert.rejects(hosts.admit(bob, ["ana.example.com"]), taken);
});

test("of two that ask for a host at once one gets it, though neither sees the other's in the API", async () => {
  const { promise: looked, resolve: go } = Promise.withResolvers<void>();
  const hosts = provider([], () => looked);
  const asked = [ana, bob].map((consumer) => hosts.admit(consumer, ["new.example.com"]));
  const [first, second] = asked as [Promise<() => void>, Promise<() => void>];
  go();
  const over = await first;
  over();
  await assert.rejects(second, taken);
  (await hosts.admit(bob, ["new.example.com"]))();
});

test("many that ask at once have the API looked at once, and those who come meanwhile once more", async () => {
  let looks = 0;
  let fails = true;
  const hosts = provider([], async () => {
    looks++;
    await new Promise(setImmediate);
    if (fails) throw new Error("not now");
  });
  const ask = (count: number) =>
    Array.from({ length: count }, (_, index) => hosts.admit(ana, [`${index}.example.com`]));
  const first = ask(100);
  await Promise.resolve();
  await Promise.resolve();
  assert.equal(looks, 1);
  const second = ask(100);
  assert.deepEqual(new Set((await Promise.allSettled(first)).map(({ status }) => status)), new Set(["rejected"]));
  fails = false;
  for (const over of await Promise.all(second)) over();
  assert.equal(looks, 2);
});
