import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { systemClock } from "@fjord/base";
import { findProcess, isAlive } from "../../process-identity.ts";
import { waitFor } from "../../wait.ts";
import type { DemoSitePlan } from "../demo-plan.ts";
import { DemoSiteFailed } from "../errors.ts";
import { MicroSite } from "./micro-site.ts";

/** Where no demo is. */
const plan: DemoSitePlan = {
  name: "nowhere",
  tier: "edge",
  address: "127.30.0.1",
  serviceRange: "127.30.1.0/24",
  podRange: "127.30.2.0/24",
  capacity: { cpu: 1, memory: 1, pods: 10 },
};

let folder: string;
before(() => {
  folder = mkdtempSync(join(tmpdir(), "fjord-micro-site-"));
});
after(() => rmSync(folder, { recursive: true, force: true }));

test("a site that ends while it starts is told at once, with how it ended and its last words", async () => {
  const site = new MicroSite(plan, folder, systemClock);
  await assert.rejects(
    start(site, 'console.log("no room left"); process.exitCode = 3;'),
    (error) => error instanceof DemoSiteFailed && /nowhere .*status 3.*\nno room left$/s.test(error.message),
  );
  await assert.rejects(
    start(site, 'process.kill(process.pid, "SIGKILL"); setInterval(() => {}, 1000);'),
    (error) => error instanceof DemoSiteFailed && /ended by SIGKILL/.test(error.message),
  );
  await site.remove();
});

test("a site is ended by a later demo, though the one that started it could not write down which process it is", async () => {
  const stop = new AbortController();
  const started = start(new MicroSite(plan, folder, systemClock), "setInterval(() => {}, 1000);", stop.signal);
  const flag = `--state-dir=${join(folder, "nowhere/site")}`;
  const child = await waitFor(() => findProcess(flag), { clock: systemClock, timeout: 60_000 });
  assert.ok(child);
  stop.abort();
  await assert.rejects(started);
  rmSync(join(folder, "nowhere/process.json"));
  await new MicroSite(plan, folder, systemClock).remove();
  assert.equal(isAlive(child), false);
});

function start(site: MicroSite, program: string, signal = new AbortController().signal): Promise<void> {
  const fjord = join(folder, "fjord.mjs");
  writeFileSync(fjord, program);
  return site.start({ env: process.env, fjord, page: folder, control: "http://127.30.0.1/", signal, told: () => {} });
}
