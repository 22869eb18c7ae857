import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ExternalNames } from "./external-names.ts";

const [ana, bob] = ["a".repeat(26), "b".repeat(26)];
const twins: Record<string, string> = { "shop-ana": ana, "bank-ana": ana, "shop-bob": bob };
const namespaces = [...Object.keys(twins), "default", "kube-system", "other", "io"];

const names = new ExternalNames({
  isTwinOf: async (consumer, namespace) => twins[namespace] === consumer,
  hasNamespace: (name) => namespaces.includes(name),
  addresses: {
    outsideProblem: (_, address) => (address === "203.0.113.5" ? undefined : `${address} is not for you`),
  },
  domains: ["k8s.corp", "cluster.local"],
});

describe("an ExternalName of a consumer", () => {
  for (const name of [
    "db.shop-ana.svc.cluster.local",
    "db.shop-ana.svc.k8s.corp.",
    "db-0.db.bank-ana.svc",
    "db.shop-ana",
    "db.example.com",
    "example.com",
    "a.b.c.d.io",
    "db.shop-bob.svc.example.com",
    "203.0.113.5",
  ])
    test(`may be ${name}`, () => names.admit(ana, [name]));

  for (const name of [
    "db.shop-bob.svc.cluster.local",
    "db.shop-bob.svc.k8s.corp",
    "db.shop-bob.svc",
    "db.shop-bob",
    "db-0.db.shop-bob",
    "db.other",
    "kubernetes.default.svc.cluster.local",
    "kubernetes.default.svc",
    "kubernetes.default",
    "KUBERNETES.Default.",
    "db.no-such-namespace.svc",
    "db",
    "localhost",
    "10-0-0-1.shop-ana.pod.cluster.local",
    "dns.cluster.local",
    "10.96.0.1",
    "010.96.0.1",
    "127.1",
    "shop.io",
  ])
    test(`may not be ${name}`, async () => {
      await assert.rejects(names.admit(ana, [name]), { status: 403 });
      await assert.rejects(names.admit(ana, ["db.example.com", name]), { status: 403, message: /^spec\.externalName/ });
    });
});
