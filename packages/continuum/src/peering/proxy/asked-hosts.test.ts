import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { askedHosts, askedNames } from "./asked-hosts.ts";

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
    [
      "of Kong's aliases",
      alias("konghq.com/host-aliases", "h.example.com,i.example.com"),
      ["h.example.com", "i.example.com"],
    ],
    ["of Azure's aliases", alias("appgw.ingress.kubernetes.io/hostname-extension", "j.example.com"), ["j.example.com"]],
    [
      "of what is sent on to them",
      alias("haproxy-ingress.github.io/redirect-from", "k.example.com"),
      ["k.example.com"],
    ],
    [
      "all of them by a condition",
      alias(
        "alb.ingress.kubernetes.io/conditions.web",
        '[{"field":"host-header","hostHeaderConfig":{"values":["l.example.com"]}}]',
      ),
      ["*"],
    ],
    ["all of them by a predicate", alias("zalando.org/skipper-predicate", 'Host("^m.example.com$")'), ["*"]],
    ["all of them by routes", alias("zalando.org/skipper-routes", 'r: Host("n") -> "http://o";'), ["*"]],
    ["all of them by a snippet", alias("nginx.ingress.kubernetes.io/server-snippet", "server_name p;"), ["*"]],
    ["all of them by several snippets", alias("nginx.org/server-snippets", "server_name p;"), ["*"]],
    ["not of other annotations", alias("example.com/kept", "g.example.com"), []],
    ["not of an alias that goes", alias("nginx.ingress.kubernetes.io/server-alias", null), []],
    ["none where it is something else", "x", []],
    ["none of a spec that is none", { spec: [] }, []],
  ];
  for (const [what, ingress, hosts] of cases) test(what, () => assert.deepEqual(askedHosts(ingress), hosts));
});

test("the names that a Service asks for are those of the DNS, and nothing that is an Ingress's", () => {
  const name = "external-dns.alpha.kubernetes.io/hostname";
  assert.deepEqual(askedNames(alias(name, "A.example.com, *.b.example.com")), ["a.example.com", "*.b.example.com"]);
  assert.deepEqual(askedNames(alias(name, "no host")), ["*"]);
  assert.deepEqual(askedNames(alias("konghq.com/host-aliases", "a.example.com")), []);
  assert.deepEqual(askedNames({ spec: { rules: [{}] } }), []);
});
