import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

/** Stands for npm: says that it has begun, and installs once it may. */
const NPM = `
const { appendFileSync, existsSync, mkdirSync, writeFileSync } = require("node:fs");
appendFileSync("npm.pids", process.pid + "\\n");
const look = setInterval(() => {
  if (!existsSync("go-on")) return;
  clearInterval(look);
  mkdirSync("node_modules", { recursive: true });
  writeFileSync("node_modules/.package-lock.json", "{}");
}, 20);
`;

const { scripts } = JSON.parse(readFileSync(join(import.meta.dirname, "..", "package.json"), "utf8")) as {
  scripts: Record<string, string>;
};

describe("what npm scripts run", () => {
  let root: string;
  const started: ChildProcess[] = [];

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "fjord-run-"));
    mkdirSync(join(root, "tools"));
    copyFileSync(join(import.meta.dirname, "run.mjs"), join(root, "tools", "run.mjs"));
    writeFileSync(join(root, "package-lock.json"), "{}");
    writeFileSync(join(root, "npm.cjs"), NPM);
    writeFileSync(join(root, "entry.ts"), "process.exit(7);");
  });
  afterEach(() => {
    for (const child of started.splice(0)) child.kill("SIGKILL");
    for (const pid of installers()) if (isAlive(pid)) process.kill(pid, "SIGKILL");
    rmSync(root, { recursive: true, force: true });
  });

  test("installs first, and has the status of what it runs", async () => {
    writeFileSync(join(root, "go-on"), "");
    assert.equal(await ended(run()), 7);
    assert.equal(await ended(run()), 7);
    assert.equal(installers().length, 1);
  });

  test("takes npm along when it is ended while that installs", async () => {
    const running = run();
    const [npm] = await begun(1);
    running.kill("SIGTERM");
    assert.equal(await ended(running), 143);
    assert.equal(isAlive(npm as number), false);
    assert.equal(existsSync(join(root, ".fjord", "install.lock")), false);
  });

  test("installs beside nobody, not even an npm whose parent was killed", async () => {
    const killed = run();
    const [npm] = await begun(1);
    killed.kill("SIGKILL");
    await once(killed, "exit");
    const next = run();
    await pause(500);
    assert.equal(installers().length, 1, "it waits for the npm that is still there");
    process.kill(npm as number, "SIGKILL");
    await begun(2);
    writeFileSync(join(root, "go-on"), "");
    assert.equal(await ended(next), 7);
  });

  test("has nobody between npm and itself, who would keep to himself that it is to end", async () => {
    mkdirSync(join(root, "node_modules"));
    writeFileSync(join(root, "node_modules", ".package-lock.json"), "{}");
    writeFileSync(
      join(root, "entry.ts"),
      `require("node:fs").writeFileSync("entry.pid", String(process.pid)); setInterval(() => {}, 1000);`,
    );
    for (const script of Object.values(scripts)) assert.match(script, /^exec node tools\/run\.mjs \S+\.ts$/);
    // npm gives the text to a shell, and its signals to that shell alone.
    const command = (scripts.microkube ?? "").replace(/\S+\.ts$/, "entry.ts");
    const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` };
    const shell = spawn("sh", ["-c", `${command} --one`], { cwd: root, env });
    started.push(shell);
    const written = join(root, "entry.pid");
    while (!existsSync(written) || readFileSync(written, "utf8") === "") await pause(20);
    const entry = Number(readFileSync(written, "utf8"));
    shell.kill("SIGTERM");
    await once(shell, "exit");
    while (isAlive(entry)) await pause(20);
  });

  function run(): ChildProcess {
    const env = { ...process.env, npm_execpath: join(root, "npm.cjs") };
    const child = spawn(process.execPath, [join(root, "tools", "run.mjs"), "entry.ts"], { cwd: root, env });
    started.push(child);
    return child;
  }

  function installers(): number[] {
    const file = join(root, "npm.pids");
    // A file is there before anything is in it, and no process is 0, which stands for all of our own group.
    const written = existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
    return written.map(Number);
  }

  async function begun(count: number): Promise<number[]> {
    while (installers().length < count) await pause(20);
    return installers();
  }
});

async function ended(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null) await once(child, "exit");
  return child.exitCode;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
