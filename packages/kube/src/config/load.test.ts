import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, describe, it } from "node:test";
import { loadClusterConfig } from "./load.ts";
import { caPem, clientCertPem, clientKeyPem } from "./test-certificates.ts";

const directory = mkdtempSync(join(tmpdir(), "fjord-load-"));
after(() => rmSync(directory, { recursive: true }));

function write(name: string, text: string): string {
  const path = join(directory, name);
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, text);
  return path;
}

/** One cluster, user and context called `name`. */
function kubeconfig(
  name: string,
  { server = `https://${name}`, current = name, user = `token: ${name}` } = {},
): string {
  return `
clusters: [{name: ${name}, cluster: {server: "${server}"}}]
users: [{name: ${name}, user: {${user}}}]
contexts: [{name: ${name}, context: {cluster: ${name}, user: ${name}, namespace: ns-${name}}}]
${current && `current-context: ${current}`}
`;
}

const serviceAccount = join(directory, "serviceaccount");
const pod = { KUBERNETES_SERVICE_HOST: "10.0.0.1", KUBERNETES_SERVICE_PORT: "443" };
write("serviceaccount/token", "pod-token\n");
write("serviceaccount/ca.crt", caPem);
write("serviceaccount/namespace", "pod-namespace");

describe("where a configuration comes from", () => {
  const explicit = write("explicit", kubeconfig("explicit"));
  const listed = write("listed", kubeconfig("listed"));
  const home = join(directory, "home");
  write("home/.kube/config", kubeconfig("home"));
  const everything = { env: { ...pod, KUBECONFIG: listed }, home, serviceAccountDirectory: serviceAccount };

  it("is the file asked for, before all others", async () => {
    assert.equal((await loadClusterConfig({ ...everything, kubeconfig: explicit })).server, "https://explicit");
  });

  it("is KUBECONFIG, before the home directory", async () => {
    assert.equal((await loadClusterConfig(everything)).server, "https://listed");
  });

  it("is the home directory, before the pod", async () => {
    assert.equal((await loadClusterConfig({ ...everything, env: pod })).server, "https://home");
  });

  it("is the pod when nothing else is there, or only empty and missing files", async () => {
    const empty = write("empty", "");
    const nothing = ["", [empty, join(directory, "missing")].join(delimiter)];
    for (const KUBECONFIG of nothing) {
      const env = { ...pod, KUBECONFIG };
      const config = await loadClusterConfig({ env, home: "/nowhere", serviceAccountDirectory: serviceAccount });
      assert.equal(config.server, "https://10.0.0.1");
      assert.equal(config.namespace, "pod-namespace");
      assert.equal(config.tls.ca, caPem);
      assert.deepEqual(await config.credentials?.current(), { authorization: "Bearer pod-token" });
    }
  });

  it("is never the pod for whoever names a context", async () => {
    const options = { env: pod, home: "/nowhere", serviceAccountDirectory: serviceAccount, context: "prod" };
    await assert.rejects(loadClusterConfig(options), {
      message: 'there is no context "prod" in /nowhere/.kube/config; known contexts: none',
    });
  });

  it("is nowhere, and the error lists where it was looked for", async () => {
    await assert.rejects(loadClusterConfig({ env: {}, home: "/nowhere" }), {
      code: "KUBE_NO_CONFIG",
      message: "found no Kubernetes cluster to talk to; looked at /nowhere/.kube/config, the environment of a pod",
    });
    await assert.rejects(loadClusterConfig({ env: { KUBECONFIG: "/nowhere/a" }, home }), {
      message: "found no Kubernetes cluster to talk to; looked at KUBECONFIG (/nowhere/a), the environment of a pod",
    });
  });
});

describe("in a pod", () => {
  const options = { serviceAccountDirectory: serviceAccount };

  it("an IPv6 service address and another port are understood", async () => {
    const env = { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "6443" };
    assert.equal((await loadClusterConfig({ env, ...options })).server, "https://[fd00::1]:6443");
  });

  it("a namespace asked for wins over the pod's own", async () => {
    assert.equal((await loadClusterConfig({ env: pod, namespace: "other", ...options })).namespace, "other");
  });

  it("a missing token and a missing CA are named", async () => {
    const bare = join(directory, "bare");
    await assert.rejects(loadClusterConfig({ env: pod, serviceAccountDirectory: bare }), {
      message: `in-cluster configuration: cannot take a token from ${bare}/token: no such file`,
    });
    write("bare/token", "t");
    await assert.rejects(loadClusterConfig({ env: pod, serviceAccountDirectory: bare }), {
      message: `cannot use the service account of this pod: cannot read ${bare}/ca.crt: no such file`,
    });
  });
});

describe("several kubeconfigs", () => {
  const first = write("merge/first", kubeconfig("shared", { server: "https://first", current: "" }));
  const second = write(
    "other/second",
    `${kubeconfig("shared", { server: "https://second", user: "username: u, password: p" })}`,
  );
  const third = write("other/third", kubeconfig("third"));
  const env = { KUBECONFIG: [first, join(directory, "missing"), second, "", third].join(delimiter) };

  it("are merged: the first entry of a name wins whole, current-context is the first one set", async () => {
    const config = await loadClusterConfig({ env });
    assert.equal(config.server, "https://first");
    assert.deepEqual(await config.credentials?.current(), { authorization: "Bearer shared" });
  });

  it("offer every context, and parts of one can be replaced", async () => {
    assert.equal((await loadClusterConfig({ env, context: "third" })).namespace, "ns-third");
    const config = await loadClusterConfig({ env, user: "third", namespace: "mine" });
    assert.equal(config.server, "https://first");
    assert.equal(config.namespace, "mine");
    assert.deepEqual(await config.credentials?.current(), { authorization: "Bearer third" });
    assert.equal((await loadClusterConfig({ env, cluster: "third" })).server, "https://third");
  });

  it("must all exist when they are named explicitly", async () => {
    const missing = join(directory, "missing");
    await assert.rejects(loadClusterConfig({ env: {}, kubeconfig: [first, missing] }), {
      code: "KUBE_CONFIG_UNREADABLE",
    });
  });
});

describe("a kubeconfig", () => {
  it("resolves relative paths against the file that they are in", async () => {
    write("pki/ca.crt", caPem);
    write("pki/client.crt", clientCertPem);
    write("pki/client.key", clientKeyPem);
    write("pki/token", "from-file");
    const cluster = write(
      "split/cluster",
      "clusters: [{name: a, cluster: {server: a:1, certificate-authority: ../pki/ca.crt}}]",
    );
    const user = write(
      "deeper/er/user",
      `
current-context: a
contexts: [{name: a, context: {cluster: a, user: a}}]
users: [{name: a, user: {client-certificate: ../../pki/client.crt, client-key: ../../pki/client.key, tokenFile: ../../pki/token}}]
`,
    );
    const config = await loadClusterConfig({ env: {}, kubeconfig: [cluster, user] });
    assert.equal(config.server, "https://a:1");
    assert.deepEqual(config.tls, { ca: caPem, cert: clientCertPem, key: clientKeyPem });
    assert.deepEqual(await config.credentials?.current(), { authorization: "Bearer from-file" });
  });

  it("may be JSON, with a base path, a server name, a proxy, and impersonation", async () => {
    const path = write(
      "json",
      JSON.stringify({
        "current-context": "a",
        contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
        clusters: [
          {
            name: "a",
            cluster: {
              server: "https://host:1234/kube/tenant/",
              "tls-server-name": "inner",
              "proxy-url": "http://proxy:3128",
              "insecure-skip-tls-verify": true,
            },
          },
        ],
        users: [
          {
            name: "a",
            user: {
              username: "ü",
              password: "p:w",
              as: "zoë",
              "as-groups": ["a", "b,c"],
              "as-uid": "7",
              "as-user-extra": { "example.com/scopes": ["view", "edit"] },
            },
          },
        ],
      }),
    );
    const { credentials, ...config } = await loadClusterConfig({ env: {}, kubeconfig: path });
    assert.deepEqual(config, {
      server: "https://host:1234/kube/tenant",
      namespace: "default",
      tls: { serverName: "inner", insecureSkipVerify: true },
      proxy: "http://proxy:3128",
      headers: {
        "Impersonate-User": Buffer.from("zoë").toString("latin1"),
        "Impersonate-Group": ["a", "b,c"],
        "Impersonate-Uid": "7",
        "Impersonate-Extra-example.com%2Fscopes": ["view", "edit"],
      },
    });
    assert.deepEqual(await credentials?.current(), {
      authorization: `Basic ${Buffer.from("ü:p:w").toString("base64")}`,
    });
  });

  it("may use YAML anchors and merge keys", async () => {
    const path = write(
      "anchors",
      `
current-context: b
contexts:
- {name: a, context: &base {cluster: a, namespace: shared}}
- {name: b, context: {<<: *base}}
clusters: [{name: a, cluster: {server: "http://a:8080"}}]
`,
    );
    const config = await loadClusterConfig({ env: {}, kubeconfig: path });
    assert.deepEqual(config, { server: "http://a:8080", namespace: "shared", tls: {} });
  });

  it("prefers the token in the file, and has the written one while there is none", async () => {
    const token = join(directory, "late-token");
    const path = write("late", kubeconfig("late", { user: `token: written, tokenFile: ${token}` }));
    const before = await loadClusterConfig({ env: {}, kubeconfig: path });
    assert.deepEqual(await before.credentials?.current(), { authorization: "Bearer written" });
    write("late-token", "rotated");
    const since = await loadClusterConfig({ env: {}, kubeconfig: path });
    assert.deepEqual(await since.credentials?.current(), { authorization: "Bearer rotated" });
  });
});

describe("a proxy from the environment", () => {
  const path = write("proxied", kubeconfig("a", { server: "https://api.example.com:6443" }));
  const proxyOf = async (env: Record<string, string>, kubeconfig = path) =>
    (await loadClusterConfig({ env, kubeconfig })).proxy;

  it("is used as HTTPS_PROXY says", async () => {
    assert.equal(await proxyOf({ HTTPS_PROXY: "http://p:1" }), "http://p:1");
    assert.equal(await proxyOf({ https_proxy: "p:1" }), "http://p:1");
    assert.equal(await proxyOf({ HTTP_PROXY: "http://p:1" }), undefined);
  });

  it("leaves out what NO_PROXY names", async () => {
    const exempt = ["*", "example.com", ".example.com", "*.example.com", "x, api.example.com:6443"];
    for (const NO_PROXY of exempt) assert.equal(await proxyOf({ HTTPS_PROXY: "p", NO_PROXY }), undefined, NO_PROXY);
    const others = ["ample.com", "api.example.com:443", "10.0.0.0/8", ""];
    for (const NO_PROXY of others) assert.equal(await proxyOf({ HTTPS_PROXY: "p", NO_PROXY }), "http://p", NO_PROXY);
  });

  it("leaves out the machine itself and ranges of addresses", async () => {
    const address = (host: string) =>
      write(`at-${host.replaceAll(/\W/g, "-")}`, kubeconfig("a", { server: `https://${host}` }));
    const env = { HTTPS_PROXY: "p", NO_PROXY: "10.0.0.0/8,fd00::/8" };
    for (const host of ["127.0.0.1:1", "localhost", "[::1]", "10.1.2.3", "[fd00::5]:6443"]) {
      assert.equal(await proxyOf(env, address(host)), undefined, host);
    }
    assert.equal(await proxyOf(env, address("11.1.2.3")), "http://p");
  });

  it("is refused by name when it cannot be used", async () => {
    await assert.rejects(proxyOf({ HTTPS_PROXY: "socks5://p" }), {
      message: "HTTPS_PROXY: proxies of the scheme socks5 are not supported, only http and https",
    });
  });
});
