import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { connectScript, NO_NAMES, NO_TOOL, NO_VARIABLE, resolveScript, variableScript } from "./trial-script.ts";

const folder = mkdtempSync(join(tmpdir(), "fjord-trial-"));
/** It hangs up on whoever comes, as many a server does that is not spoken to in its own words. */
const server = createServer((socket) => socket.on("error", () => {}).end("hello\n"));
/** As an agent does to whom it may not lead anywhere: it has taken the connection, and resets it. */
const resetting = createServer((socket) => setTimeout(() => socket.on("error", () => {}).resetAndDestroy(), 100));
/** It takes connections and waits. */
const silent = createServer((socket) => socket.on("error", () => {}));
let open = 0;
let closed = 0;

before(async () => {
  const gone = createServer().listen(0, "127.0.0.1");
  await once(gone, "listening");
  closed = (gone.address() as AddressInfo).port;
  gone.close();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  open = (server.address() as AddressInfo).port;
  for (const each of [resetting, silent]) await once(each.listen(0, "127.0.0.1"), "listening");
});
after(() => {
  for (const each of [server, resetting, silent]) each.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs a script where there are these programs, and no others. */
async function ended(script: string, ...programs: readonly string[]): Promise<number | null> {
  const bodies = programs.map((program) => {
    const found = spawnSync("sh", ["-c", `command -v ${program}`])
      .stdout.toString()
      .trim();
    // It may need others itself.
    return [program, `PATH='${process.env.PATH}' exec '${found}' "$@"`];
  });
  return await endedWith(Object.fromEntries(bodies), script);
}

/** The same with programs that are what `sh` is told here. */
async function endedWith(programs: Readonly<Record<string, string>>, script: string): Promise<number | null> {
  const path = mkdtempSync(join(folder, "bin-"));
  for (const [program, body] of Object.entries(programs))
    writeFileSync(join(path, program), `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  const child = spawn("/bin/sh", ["-c", script], { env: { PATH: path }, stdio: "ignore" });
  const [code] = (await once(child, "exit")) as [number | null];
  return code;
}

const has = (program: string) => spawnSync("sh", ["-c", `command -v ${program}`]).status === 0;

describe("what pods are told to run", () => {
  for (const programs of [["nc"], ["bash", "timeout"], ["curl"], ["python3"]])
    it(`tells by ${programs[0]} whether something listens`, { skip: !programs.every(has) }, async () => {
      assert.equal(await ended(connectScript("127.0.0.1", open), ...programs), 0);
      const code = await ended(connectScript("127.0.0.1", closed), ...programs);
      assert.ok(code !== 0 && code !== NO_TOOL, String(code));
    });

  for (const programs of [["bash", "timeout", "head"], ["curl"], ["python3"]])
    it(`tells by ${programs[0]} whether a connection is held`, { skip: !programs.every(has) }, async () => {
      const at = (each: typeof server) =>
        ended(connectScript("127.0.0.1", (each.address() as AddressInfo).port, { held: true }), ...programs);
      const [answers, waits, resets] = await Promise.all([at(server), at(silent), at(resetting)]);
      assert.deepEqual([answers, waits], [0, 0]);
      assert.ok(resets !== 0 && resets !== NO_TOOL, String(resets));
      const none = await ended(connectScript("127.0.0.1", closed, { held: true }), ...programs);
      assert.ok(none !== 0 && none !== NO_TOOL, String(none));
    });

  it("finds a Service by the variables of the pod", { skip: !has("bash") }, async () => {
    const script = variableScript("my-web", open);
    assert.equal(await ended(script, "bash", "timeout"), NO_VARIABLE);
    assert.equal(await ended(`MY_WEB_SERVICE_HOST=127.0.0.1\n${script}`, "bash", "timeout"), 0);
  });

  it("tells of names whether they have addresses", { skip: !has("getent") }, async () => {
    assert.equal(await ended(resolveScript("localhost"), "getent"), 0);
    const code = await ended(resolveScript("nobody.invalid"), "getent");
    const asksCluster = readFileSync("/etc/resolv.conf", "utf8").includes("svc.");
    assert.equal(code, asksCluster ? 1 : NO_NAMES);
  });

  it("completes names for an nslookup that does not, as that of busybox", async () => {
    const knows = (name: string) => `[ "$1" = ${name} ]`;
    const asked = (name: string, resolvConf: string) => {
      const file = join(mkdtempSync(join(folder, "etc-")), "resolv.conf");
      writeFileSync(file, resolvConf);
      return endedWith({ nslookup: knows("api.shop.svc.x") }, resolveScript(name).replaceAll("/etc/resolv.conf", file));
    };
    const told = "nameserver 10.0.0.10\nsearch y shop.svc.x svc.x x\noptions ndots:5\n";
    assert.deepEqual(
      [await asked("api", told), await asked("web", told), await asked("api.shop.svc.x", told)],
      [0, 1, 0],
    );
    assert.equal(await asked("api", "nameserver 10.0.0.10\n"), NO_NAMES);
  });

  it("says where there is nothing to ask by", async () => {
    assert.equal(await ended(connectScript("127.0.0.1", open)), NO_TOOL);
    assert.equal(await ended(resolveScript("localhost")), NO_TOOL);
  });

  it("runs nothing that a name says", () => {
    for (const name of ["web; reboot", "$(reboot)", "`reboot`", "a b", "", "'"]) {
      assert.throws(() => connectScript(name, 80), TypeError);
      assert.throws(() => resolveScript(name), TypeError);
    }
  });
});
