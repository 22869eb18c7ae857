import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import fc from "fast-check";
import type { ClusterConfig } from "./cluster-config.ts";
import { clusterConfig } from "./direct-config.ts";
import { kubeconfigOf } from "./kubeconfig-of.ts";
import { loadClusterConfig } from "./load.ts";
import { caPem, clientCertPem, clientKeyPem } from "./test-certificates.ts";

const directory = mkdtempSync(join(tmpdir(), "fjord-write-"));
after(() => rmSync(directory, { recursive: true }));

async function writeAndLoad(config: ClusterConfig, name: string): Promise<ClusterConfig> {
  const path = join(directory, "config");
  writeFileSync(path, await kubeconfigOf(config, name));
  return loadClusterConfig({ env: {}, kubeconfig: path, context: name });
}

const text = fc.string({ minLength: 1, maxLength: 20, unit: "grapheme" }).filter((s) => !/\p{Cc}/u.test(s));
const identity = text.filter((s) => s.trim() === s);
const impersonation = fc.record(
  {
    user: identity,
    groups: fc.array(identity, { minLength: 1, maxLength: 3 }),
    uid: identity,
    extra: fc.dictionary(
      fc.stringMatching(/^[a-z0-9./%:-]{1,12}$/),
      fc.array(identity, { minLength: 1, maxLength: 2 }),
      {
        minKeys: 1,
        maxKeys: 2,
      },
    ),
  },
  { requiredKeys: ["user"] },
);
const options = fc.record(
  {
    server: fc.constantFrom("https://a", "http://127.0.0.1:8080", "https://[::1]:6443/kube/tenant"),
    namespace: text,
    serverName: fc.constantFrom("inner", "x.example"),
    ca: fc.constant(caPem),
    token: text,
    impersonate: impersonation,
    proxy: fc.constant("http://u:p@proxy:3128"),
  },
  { requiredKeys: ["server"] },
);

describe("a configuration written as a kubeconfig", () => {
  it("leads back to the same configuration", async () => {
    const property = fc.asyncProperty(options, text, fc.boolean(), async (chosen, name, withPair) => {
      const pair = withPair ? { cert: clientCertPem, key: clientKeyPem } : {};
      const { credentials, ...config } = clusterConfig({ ...chosen, ...pair });
      const { credentials: read, ...back } = await writeAndLoad(
        { ...config, ...(credentials && { credentials }) },
        name,
      );
      assert.deepEqual(back, config);
      assert.deepEqual(await read?.current(), await credentials?.current());
    });
    await fc.assert(property, { numRuns: 50 });
  });

  it("keeps token files, passwords and plugins as what they are", async () => {
    const token = join(directory, "token");
    writeFileSync(token, "one");
    const fromFile = await writeAndLoad(clusterConfig({ server: "https://a", tokenFile: token }), "a");
    writeFileSync(token, "two");
    fromFile.credentials?.rejected();
    assert.deepEqual(await fromFile.credentials?.current(), { authorization: "Bearer two" });

    const basic = await writeAndLoad(
      clusterConfig({ server: "https://a", basic: { username: "u", password: "p" } }),
      "a",
    );
    assert.deepEqual(await basic.credentials?.current(), { authorization: `Basic ${btoa("u:p")}` });

    const path = join(directory, "exec");
    const exec = {
      apiVersion: "client.authentication.k8s.io/v1",
      command: "/opt/plugin",
      args: ["a"],
      env: [{ name: "A", value: "b" }],
      installHint: "hint",
      interactiveMode: "Never",
      provideClusterInfo: true,
    };
    const entry = { name: "a", user: { exec }, cluster: { server: "https://a" }, context: { cluster: "a", user: "a" } };
    writeFileSync(
      path,
      JSON.stringify({ clusters: [entry], users: [entry], contexts: [entry], "current-context": "a" }),
    );
    const config = await loadClusterConfig({ env: {}, kubeconfig: path });
    const again = await writeAndLoad(config, "a");
    assert.equal(await kubeconfigOf(again, "a"), await kubeconfigOf(config, "a"));
    assert.match(await kubeconfigOf(config, "a"), /command: \/opt\/plugin/);
  });

  it("is refused where a kubeconfig cannot say it", async () => {
    const credentials = { current: async () => ({}), rejected() {} };
    await assert.rejects(kubeconfigOf(clusterConfig({ server: "https://a", credentials }), "a"), {
      message: "cannot write the configuration of https://a as a kubeconfig: its credentials are made by the program",
    });
    await assert.rejects(kubeconfigOf(clusterConfig({ server: "https://a", headers: { "X-Tenant": "t" } }), "a"), {
      message: "cannot write the configuration of https://a as a kubeconfig: it sends the headers X-Tenant",
    });
  });
});

describe("a configuration made directly", () => {
  const wrong: [string, Parameters<typeof clusterConfig>[0], string][] = [
    ["a server that is no URL", { server: "https://" }, "server: not a URL"],
    ["a CA that is none", { server: "https://a", ca: "x" }, "ca: no PEM certificate"],
    [
      "a certificate alone",
      { server: "https://a", cert: clientCertPem },
      "key: missing: certificate and key go together",
    ],
    [
      "two credentials",
      { server: "https://a", token: "a", tokenFile: "b" },
      "token, tokenFile: only one of these can be given",
    ],
    [
      "a proxy that is none",
      { server: "https://a", proxy: "p" },
      "proxy: not a URL (such as http://proxy.example.com:3128)",
    ],
  ];
  for (const [what, given, message] of wrong) {
    it(`is refused: ${what}`, () => assert.throws(() => clusterConfig(given), { code: "KUBE_CONFIG_OPTION", message }));
  }
});
