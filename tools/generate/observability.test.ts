import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { parse } from "yaml";
import { expressions, grafanaDashboards } from "./dashboards.ts";
import { agentDescriptions, gatewayDescriptions } from "./metrics-reference.ts";

const root = dirname(dirname(import.meta.dirname));
const rulesFile = join(root, "deploy/prometheus/fjord.rules.yaml");
const folder = mkdtempSync(join(tmpdir(), "fjord-rules-"));
after(() => rmSync(folder, { recursive: true, force: true }));

interface Rules {
  groups: { name: string; rules: { alert: string; expr: string; annotations: Record<string, string> }[] }[];
}
const alerts = (parse(readFileSync(rulesFile, "utf8")) as Rules).groups.flatMap(({ rules }) => rules);

/** Prometheus' own program, from PATH or by FJORD_PROMTOOL. */
const promtool = process.env.FJORD_PROMTOOL ?? "promtool";
const skip =
  spawnSync(promtool, ["--version"]).error === undefined ? false : "there is no promtool (Debian: prometheus)";

test("dashboards and alerts ask for nothing that no process tells", async () => {
  const described = [...agentDescriptions(), ...gatewayDescriptions()];
  const known = new Set(
    described.flatMap(({ name }) => [name, ...["_bucket", "_count", "_sum"].map((end) => name + end)]),
  );
  const labels = new Map(described.map(({ name, labels }) => [name, labels]));
  for (const text of [...expressions(), ...alerts.map(({ expr }) => expr)]) {
    const asked = [...text.matchAll(/\b(?:fjord|workqueue|controller_runtime)_[a-z_]+/g)].map(([name]) => name);
    for (const name of asked) assert.ok(known.has(name), `${name} in ${text}`);
    for (const [, name = "", selector = ""] of text.matchAll(/\b(fjord_[a-z_]+)\{([^}]*)\}/g))
      for (const [, label = ""] of selector.matchAll(/(\w+)=/g))
        assert.ok(labels.get(name)?.includes(label), `${label} of ${name} in ${text}`);
  }
});

test("every alert says what it means and what to do", () => {
  assert.ok(alerts.length >= 10);
  for (const { alert, annotations } of alerts)
    for (const part of ["summary", "description", "action"]) assert.ok(annotations[part], `${alert} has no ${part}`);
});

test("dashboards are unlike each other and whole", () => {
  const all = grafanaDashboards().map(({ text }) => JSON.parse(text) as { uid: string; panels: { id: number }[] });
  assert.deepEqual(
    all.map(({ uid }) => uid),
    ["fjord-fleet", "fjord-peering", "fjord-offloading", "fjord-network"],
  );
  for (const { panels } of all) assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
});

test("promtool takes the rules, their tests, and every expression of the dashboards", { skip }, () => {
  execFileSync(promtool, ["check", "rules", rulesFile]);
  execFileSync(promtool, ["test", "rules", "fjord.rules.test.yaml"], { cwd: dirname(rulesFile) });
  const asRules = expressions().map((expr, index) => ({ record: `dashboard:${index}`, expr }));
  const file = join(folder, "dashboards.yaml");
  writeFileSync(file, JSON.stringify({ groups: [{ name: "dashboards", rules: asRules }] }));
  execFileSync(promtool, ["check", "rules", "--lint=none", file]);
});
