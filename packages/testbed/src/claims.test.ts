import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Claims } from "./claims.ts";
import { identify } from "./process-identity.ts";

const directory = mkdtempSync(join(tmpdir(), "fjord-claims-"));
after(() => rmSync(directory, { recursive: true, force: true }));

test("a name is claimed once, as long as its process lives", async () => {
  const claims = new Claims(directory);
  assert.equal(claims.take("port-1"), true);
  assert.equal(claims.take("port-1"), false);
  const other = spawn("sleep", ["60"]);
  await once(other, "spawn");
  writeFileSync(join(directory, "port-2"), JSON.stringify(identify(other.pid ?? 0)));
  assert.equal(claims.take("port-2"), false);
  other.kill("SIGKILL");
  await once(other, "exit");
  assert.equal(claims.take("port-2"), true);
  assert.deepEqual(readdirSync(directory).sort(), ["port-1", "port-2"]);
});

test("what cannot be read claims nothing", () => {
  writeFileSync(join(directory, "port-3"), "");
  assert.equal(new Claims(directory).take("port-3"), true);
});

test("of several programs that claim at once one has each name, dead claims before them or not", async () => {
  const names = Array.from({ length: 40 }, (_, i) => `range-${i}`);
  for (const name of names.slice(20))
    writeFileSync(join(directory, name), JSON.stringify({ pid: 1, started: "never" }));
  const script = `
    const { Claims } = await import(${JSON.stringify(import.meta.resolve("./claims.ts"))});
    const claims = new Claims(${JSON.stringify(directory)});
    await new Promise((resolve) => process.stdin.once("data", resolve));
    console.log(JSON.stringify(${JSON.stringify(names)}.filter((name) => claims.take(name))));
    process.stdin.once("end", () => process.exit(0));`;
  const programs = Array.from({ length: 4 }, () => {
    return spawn(process.execPath, ["--input-type=module", "--eval", script], { stdio: ["pipe", "pipe", "inherit"] });
  });
  await new Promise((resolve) => setTimeout(resolve, 500));
  for (const { stdin } of programs) stdin.write("go\n");
  const taken = await Promise.all(
    programs.map(async ({ stdout }) => JSON.parse(String((await once(stdout, "data"))[0])) as string[]),
  );
  for (const { stdin } of programs) stdin.end();
  assert.deepEqual(taken.flat().sort(), names.toSorted());
});
