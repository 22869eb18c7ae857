import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { findBinaries } from "@fjord/testbed";
import { type SharedTestSite, sharedTestSite } from "@fjord/testbed/shared-sites";
import { kubernetesSkip } from "@fjord/testbed/testing";
import { KubeClient } from "../client/client.ts";
import { exec } from "../stream/exec.ts";
import type { ClusterConfig } from "./cluster-config.ts";
import { clusterConfig } from "./direct-config.ts";
import { kubeconfigOf } from "./kubeconfig-of.ts";
import { loadClusterConfig } from "./load.ts";

const run = promisify(execFile);

interface UserInfo {
  username: string;
  groups: string[];
  extra?: Record<string, string[]>;
}

for (const kubernetes of ["1.36", "1.35"] as const) {
  describe(`configurations against Kubernetes ${kubernetes}`, {
    skip: kubernetesSkip(kubernetes),
    timeout: 120_000,
  }, () => {
    let site: SharedTestSite;
    let directory: string;

    before(async () => {
      directory = mkdtempSync(join(tmpdir(), "fjord-config-"));
      site = await sharedTestSite({ kubernetes });
    });

    after(async () => {
      rmSync(directory, { recursive: true });
    });

    /** Writes the configuration down and loads it again. */
    async function reload(config: ClusterConfig): Promise<ClusterConfig> {
      const path = join(directory, "config");
      writeFileSync(path, await kubeconfigOf(config, "test"), { mode: 0o600 });
      return loadClusterConfig({ env: process.env, kubeconfig: path });
    }

    const kinds = { group: "", version: "v1", namespaced: true } as const;
    const serviceAccounts = { ...kinds, kind: "ServiceAccount", plural: "serviceaccounts" };

    async function newToken(): Promise<string> {
      const client = new KubeClient(site.config);
      const name = `account-${Math.random().toString(36).slice(2)}`;
      await client.create(serviceAccounts, {
        apiVersion: "v1",
        kind: "ServiceAccount",
        metadata: { name, namespace: "default" },
      });
      const { token } = await client.createToken({ name, namespace: "default" });
      await client.close();
      return token;
    }

    it("the administrator's kubeconfig, written by us, serves kubectl and us", async () => {
      const config = await reload(await loadClusterConfig({ env: {}, kubeconfig: site.kubeconfig }));
      assert.deepEqual((await whoAmI(config)).username, (await whoAmI(site.config)).username);
      const kubectl = findBinaries({ env: process.env, minors: [kubernetes] }).binaries.path("kubectl", kubernetes);
      const { stdout } = await run(kubectl, [
        "--kubeconfig",
        join(directory, "config"),
        "auth",
        "whoami",
        "-o",
        "json",
      ]);
      assert.equal(JSON.parse(stdout).status.userInfo.username, (await whoAmI(site.config)).username);
    });

    it("the server sees whom we act as, to the letter", async () => {
      const { server, tls } = site.config;
      const impersonate = {
        user: "zoë",
        groups: ["team:a", "b,c"],
        uid: "7",
        extra: { "example.com/scopes": ["view", "édit"] },
      };
      const config = await reload(clusterConfig({ server, ...tls, impersonate }));
      const { username, groups, extra } = await whoAmI(config);
      assert.equal(username, "zoë");
      assert.deepEqual(groups.slice(0, 2), ["team:a", "b,c"]);
      assert.deepEqual(extra?.["example.com/scopes"], ["view", "édit"]);
    });

    it("a token in a file is taken, and its successor once the server refuses it", async () => {
      const { server, tls } = site.config;
      const tokenFile = join(directory, "token");
      writeFileSync(tokenFile, "not-a-token");
      const config = await reload(clusterConfig({ server, ca: tls.ca, tokenFile }));
      await assert.rejects(whoAmI(config), { statusCode: 401 });
      writeFileSync(tokenFile, await newToken());
      assert.match((await whoAmI(config)).username, /^system:serviceaccount:default:account-/);
    });

    it("the token of a plugin beside the kubeconfig is taken", async () => {
      const { server, tls } = site.config;
      const plugin = join(directory, "plugin");
      const tokenFile = join(directory, "plugin-token");
      const script = `printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}' "$(cat ${tokenFile})"`;
      writeFileSync(plugin, `#!/bin/sh\n${script}\n`);
      chmodSync(plugin, 0o700);
      writeFileSync(tokenFile, await newToken());
      const entry = {
        name: "a",
        cluster: { server, "certificate-authority-data": Buffer.from(tls.ca ?? "").toString("base64") },
        context: { cluster: "a", user: "a" },
        user: {
          exec: { apiVersion: "client.authentication.k8s.io/v1", command: "./plugin", interactiveMode: "Never" },
        },
      };
      const kubeconfig = join(directory, "with-plugin");
      writeFileSync(
        kubeconfig,
        JSON.stringify({ clusters: [entry], users: [entry], contexts: [entry], "current-context": "a" }),
      );
      const config = await loadClusterConfig({ env: process.env, kubeconfig });
      assert.match((await whoAmI(config)).username, /^system:serviceaccount:default:account-/);
    });

    it("a stream that is refused becomes the API's error", async () => {
      const { server, tls } = site.config;
      await assert.rejects(exec(site.config, { pod: "none", command: ["true"] }), {
        statusCode: 404,
        message: 'cannot run a command in Pod default/none: pods "none" not found (404 NotFound)',
      });
      const stranger = clusterConfig({ server, ca: tls.ca, token: await newToken() });
      await assert.rejects(exec(stranger, { pod: "none", command: ["true"] }), {
        statusCode: 403,
        reason: "Forbidden",
      });
      const unknown = clusterConfig({ server, ca: tls.ca, token: "wrong" });
      await assert.rejects(exec(unknown, { pod: "none", command: ["true"] }), { statusCode: 401 });
    });
  });
}

async function whoAmI(config: ClusterConfig): Promise<UserInfo> {
  const client = new KubeClient(config);
  try {
    const body = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
    const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    const response = await client.raw("POST", path, { body });
    return JSON.parse(response.body.toString("utf8")).status.userInfo;
  } finally {
    await client.close();
  }
}
