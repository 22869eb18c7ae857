import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { askedHosts } from "./asked-hosts.ts";

const http = { paths: [] };
const alias = (key: string, value: unknown) => ({ metadata: { annotations: { [key]: value } } });

describe("the hosts that an Ingress asks for", () => {
  const cases: [string, unknown, string[]][] = [
    [
      "of its rules",
      { spec: { rules: [{ host: "a.example.com", http }, { host: "b.example.com" }] } },
      ["a.example.com", "b.example.com"],
    ],
    ["once each", { spec: { rules: [{ host: "a.b" }, { host: "a.b" }], tls: [{ hosts: ["a.b"] }] } }, ["a.b"]],
    ["in one way of writing", { spec: { rules: [{ host: "A.Example.COM" }] } }, ["a.example.com"]],
    ["with wildcards", { spec: { rules: [{ host: "*.example.com" }] } }, ["*.example.com"]],
    ["all of them by a rule without one", { spec: { rules: [{ http }] } }, ["*"]],
    ["all of them by an empty one", { spec: { rules: [{ host: "", http }] } }, ["*"]],
    ["all of them by a rule that is none", { spec: { rules: [7, null] } }, ["*"]],
    ["all of them by a default backend", { spec: { defaultBackend: { service: {} } } }, ["*"]],
    ["not by a default backend that goes", { spec: { defaultBackend: null, rules: null } }, []],
    [
      "of its certificates",
      { spec: { tls: [{ hosts: ["c.example.com"], secretName: "x" }, { secretName: "y" }] } },
      ["c.example.com"],
    ],
    [
      "of aliases",
      alias("nginx.ingress.kubernetes.io/server-alias", "d.example.com, e.example.com"),
      ["d.example.com", "e.example.com"],
    ],
    ["of aliases by an expression", alias("nginx.ingress.kubernetes.io/server-alias", "~^.*$"), ["*"]],
    ["of another controller's aliases", alias("haproxy-ingress.github.io/server-alias-regex", "^a"), ["*"]],
    ["of names in the DNS", alias("external-dns.alpha.kubernetes.io/hostname", "f.example.com"), ["f.example.com"]],
    ["not of other annotations", alias("example.com/kept", "g.example.com"), []],
    ["not of an alias that goes", alias("nginx.ingress.kubernetes.io/server-alias", null), []],
    ["none where it is something else", "x", []],
    ["none of a spec that is none", { spec: [] }, []],
  ];
  for (const [what, ingress, hosts] of cases) test(what, () => assert.deepEqual(askedHosts(ingress), hosts));
});
