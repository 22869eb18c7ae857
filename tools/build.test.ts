import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";

const root = dirname(import.meta.dirname);
mkdirSync(join(root, ".fjord"), { recursive: true });
// Inside the repository, where the bundles find the packages of npm that they import.
const folder = mkdtempSync(join(root, ".fjord", "build-"));
after(() => rmSync(folder, { recursive: true }));

test("what is shipped runs as plain JavaScript", async () => {
  execFileSync(process.execPath, [join(root, "tools/build.ts"), folder], { stdio: "pipe" });
  const load = (file: string) => import(pathToFileURL(join(folder, file)).href);
  const { KubeClient, clusterConfig } = (await load("kube/index.mjs")) as typeof import("@fjord/kube");
  const client = new KubeClient(clusterConfig({ server: "http://127.0.0.1:1" }));
  await assert.rejects(client.raw("GET", "/version"), { code: "KUBE_CONNECTION" });
  await client.close();
  const { customResourceDefinitions } = (await load("api/manifests.mjs")) as typeof import("@fjord/api/manifests");
  assert.ok(customResourceDefinitions().length >= 8);
  assert.match(
    readFileSync(join(folder, "agent/page/index.html"), "utf8"),
    /<script type="module" src="\/assets\/main-/,
  );
});

test("the control plane that is shipped finds its data", async () => {
  const program = join(folder, "microkube/cli.mjs");
  const microkube = spawn(process.execPath, [program, "--memory", "--port=0"], { stdio: ["ignore", "pipe", "ignore"] });
  const ended = once(microkube, "exit");
  try {
    let text = "";
    for await (const chunk of microkube.stdout) {
      text += chunk;
      if (text.includes("client-key-data")) break;
    }
    assert.match(text, /^microkube serves at https:\/\/127\.0\.0\.1:\d+ \(ready in/);
  } finally {
    microkube.kill();
    await ended;
  }
});
