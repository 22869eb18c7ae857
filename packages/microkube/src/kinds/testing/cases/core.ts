import { casesOf, type KindCase } from "./case.ts";

const named = (name: string, rest: Record<string, unknown> = {}) => ({ metadata: { name }, ...rest });
const long = (length: number) => "a".repeat(length);

export const coreCases: KindCase[] = [
  ...casesOf("", "Namespace", {
    plain: [named("shop"), { metadata: { labels: { a: "b" } } }, { spec: { finalizers: ["x.y/z"] } }],
    "a bad name": named("Shop.x"),
    "bad finalizers": named("shop", { spec: { finalizers: ["foo"] } }),
    "metadata of all kinds": {
      metadata: {
        name: "x",
        labels: { "a/b/c": "ok", good: "-bad-" },
        annotations: { "-x": "1" },
        finalizers: ["foo", "a.b/c"],
        ownerReferences: [{ apiVersion: "", kind: "", name: "", uid: "" }],
      },
    },
  }),
  ...casesOf("", "ConfigMap", {
    plain: [
      named("a", { data: { a: "b" }, binaryData: { c: "aGk=" }, immutable: true }),
      { data: { a: "c" } },
      { immutable: false, binaryData: null },
      { metadata: { labels: { "": "x" } } },
    ],
    empty: named("a"),
    "bad keys": named("a", { data: { "a/b": "x", "..": "y", c: "z" }, binaryData: { c: "aGk=" } }),
    "bad name": named("A_b"),
    "too long a name": named(long(254)),
  }),
  ...casesOf("", "Secret", {
    opaque: [
      named("a", { data: { a: "aGk=" }, stringData: { b: "x" } }),
      { type: "other" },
      { stringData: { a: "changed" } },
    ],
    frozen: [named("a", { data: { a: "aGk=" }, immutable: true }), { data: { a: "aGo=" } }, { immutable: null }],
    "token without account": named("a", { type: "kubernetes.io/service-account-token" }),
    "docker without config": named("a", { type: "kubernetes.io/dockerconfigjson" }),
    "docker with nonsense": named("a", {
      type: "kubernetes.io/dockerconfigjson",
      stringData: { ".dockerconfigjson": "x" },
    }),
    "basic auth": named("a", { type: "kubernetes.io/basic-auth" }),
    "ssh auth": named("a", { type: "kubernetes.io/ssh-auth" }),
    tls: named("a", { type: "kubernetes.io/tls", data: { "tls.crt": "" } }),
    "bad key": named("a", { data: { "a b": "aGk=" } }),
  }),
];
