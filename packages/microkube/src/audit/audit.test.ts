import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { silentLogger } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { AuditLogUnusable, AuditPolicyUnusable } from "../errors.ts";
import { startMicrokube } from "../microkube.ts";
import { TestApi } from "../server/test-api.ts";
import { AuditLog } from "./audit-log.ts";

const policy = "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n";

function folder(t: { after(done: () => void): void }): string {
  const path = mkdtempSync(join(tmpdir(), "fjord-audit-"));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

const lines = (path: string) =>
  readFileSync(path, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>);

test("whoever has an answer finds it written down, and what was there before", async (t) => {
  const [policyFile, logPath] = [join(folder(t), "policy.yaml"), join(folder(t), "audit.log")];
  writeFileSync(policyFile, policy);
  writeFileSync(logPath, '{"auditID":"before"}\n');
  await using api = await TestApi.start({ audit: { policyFile, logPath } });
  for (let i = 0; i < 20; i++) {
    const { headers } = await api.get(`/api/v1/namespaces/default/configmaps/a-${i}`);
    const events = lines(logPath);
    const last = events.find(({ auditID }) => auditID === headers["audit-id"]);
    assert.deepEqual(last?.objectRef, {
      resource: "configmaps",
      namespace: "default",
      name: `a-${i}`,
      apiVersion: "v1",
    });
    assert.equal(last?.stage, "ResponseComplete");
    assert.equal((last?.responseStatus as { code: number } | undefined)?.code, 404);
    assert.equal(events[0]?.auditID, "before");
  }
});

test("what cannot be audited does not start", async (t) => {
  const directory = folder(t);
  const [policyFile, logPath] = [join(directory, "policy.yaml"), join(directory, "none", "audit.log")];
  const start = () => startMicrokube({ controllers: false, scheduler: false, audit: { policyFile, logPath } });
  await assert.rejects(start(), AuditPolicyUnusable);
  writeFileSync(policyFile, "kind: Policy");
  await assert.rejects(start(), AuditPolicyUnusable);
  writeFileSync(policyFile, policy);
  await assert.rejects(start(), AuditLogUnusable);
});

test("a batch is written after a second, or when it is large, or at the end", async (t) => {
  const path = join(folder(t), "audit.log");
  const clock = new ManualClock();
  const log = new AuditLog({ path, mode: "batch", clock, logger: silentLogger });
  log.write({ at: 1 });
  assert.equal(lines(path).length, 0);
  await clock.advance(1_000);
  assert.equal(lines(path).length, 1);
  for (let at = 0; at < 400; at++) log.write({ at });
  assert.equal(lines(path).length, 401);
  log.write({ at: 2 });
  log.close();
  log.write({ at: 3 });
  assert.deepEqual(lines(path).at(-1), { at: 2 });
});
