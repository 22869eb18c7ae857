import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { silentLogger, systemClock } from "@fjord/base";
import { claimRuntime } from "./runtime-claim.ts";

const means = { clock: systemClock, logger: silentLogger };

test("a container runtime is one node's, under whatever name, until that has ended", async (t) => {
  const directory = await mkdtemp(join(tmpdir(), "fjord-claim-"));
  t.after(() => rm(directory, { recursive: true }));
  const socket = join(directory, "containerd.sock");
  const alias = join(directory, "alias.sock");
  await writeFile(socket, "");
  await symlink(socket, alias);
  const program = `
import { silentLogger, systemClock } from "@fjord/base";
import { claimRuntime } from "./runtime-claim.ts";
await claimRuntime(${JSON.stringify(socket)}, { clock: systemClock, logger: silentLogger });
console.log("claimed");
setInterval(() => {}, 1000);
`;
  const child = spawn(process.execPath, ["--input-type=module-typescript", "-e", program], {
    cwd: import.meta.dirname,
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  await once(child.stdout, "data");

  await assert.rejects(claimRuntime(alias, means), { code: "RUNTIME_IN_USE" });
  const waiting = claimRuntime(alias, means);
  child.kill("SIGKILL");
  await using claim = await waiting;
  assert.ok(claim);
  await using other = await claimRuntime(join(directory, "other.sock"), means);
  assert.ok(other);
  assert.equal(await claimRuntime(socket, means, AbortSignal.abort()), undefined);
});
