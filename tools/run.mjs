// Runs a TypeScript entry point of this repository on Node 24, installing the dependencies first where they are missing
// or older than the lockfile. Plain JavaScript that Node 20 understands, and no dependency: it runs before anything is
// installed.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

function installIsCurrent() {
  const installed = join(root, "node_modules", ".package-lock.json");
  return existsSync(installed) && statSync(installed).mtimeMs >= statSync(join(root, "package-lock.json")).mtimeMs;
}

/** One at a time: two that install into one folder at once leave nothing there. */
async function installOnce() {
  const lock = join(root, ".fjord", "install.lock");
  const holder = join(lock, "pid");
  mkdirSync(dirname(lock), { recursive: true });
  for (;;) {
    try {
      mkdirSync(lock);
      break;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
    if (isAbandoned(lock, holder)) rmSync(lock, { recursive: true, force: true });
    else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  }
  let status = 0;
  try {
    writeFileSync(holder, String(process.pid));
    if (!installIsCurrent()) status = await install((npm) => writeFileSync(holder, `${process.pid} ${npm}`));
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
  if (status !== 0) process.exit(status);
}

/** Whether the processes that install have ended without a word, or were ended before they could say who they are. */
function isAbandoned(lock, holder) {
  try {
    const pids = readFileSync(holder, "utf8").split(" ").map(Number);
    if (pids.every((pid) => pid > 0)) return !pids.some(isAlive);
  } catch (error) {
    if (error.code !== "ENOENT") return false;
  }
  try {
    return Date.now() - statSync(lock).mtimeMs > 5_000;
  } catch {
    // Given back meanwhile.
    return false;
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code !== "ESRCH";
  }
}

/** Gives npm's status; whoever ends us ends npm. */
async function install(began) {
  console.error("Installing dependencies (npm ci) ...");
  const npm = process.env.npm_execpath;
  const [command, args] = npm ? [process.execPath, [npm]] : ["npm", []];
  const child = spawn(command, [...args, "ci", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: root,
    stdio: "inherit",
  });
  if (child.pid !== undefined) began(child.pid);
  const release = passSignals(child);
  const status = await statusOf(child);
  release();
  if (status !== 0) console.error("npm ci failed; the lines above say why. Nothing was run.");
  return status;
}

/** The child decides when to end. Ctrl-C reaches it through the terminal; other signals do not. */
function passSignals(child) {
  const listeners = [
    ["SIGINT", () => {}],
    ...["SIGTERM", "SIGHUP"].map((signal) => [signal, () => child.kill(signal)]),
  ];
  for (const [signal, listener] of listeners) process.on(signal, listener);
  return () => {
    for (const [signal, listener] of listeners) process.off(signal, listener);
  };
}

function statusOf(child) {
  return new Promise((resolve) => {
    child.on("error", (error) => {
      console.error(`cannot run ${child.spawnfile}: ${error.message}`);
      resolve(1);
    });
    child.on("exit", (status, signal) => resolve(status ?? 128 + (constants.signals[signal] ?? 0)));
  });
}

function node24() {
  const bundled = join(root, "node_modules", ".bin", "node");
  if (existsSync(bundled)) return bundled;
  if (Number(process.versions.node.split(".")[0]) >= 24) return process.execPath;
  console.error(
    `Fjord runs on Node 24. This machine has ${process.versions.node}, and no bundled Node 24 exists for ` +
      `${process.platform}-${process.arch}: install Node 24 and run the command again.`,
  );
  process.exit(1);
}

if (!installIsCurrent()) await installOnce();
const [entry, ...args] = process.argv.slice(2);
if (entry === undefined) {
  console.error("usage: node tools/run.mjs ENTRY.ts [ARGUMENT...]");
  process.exit(2);
}
const child = spawn(node24(), [join(root, entry), ...args], {
  stdio: "inherit",
  env: { ...process.env, PATH: `${join(root, "node_modules", ".bin")}:${process.env.PATH}` },
});
passSignals(child);
process.exit(await statusOf(child));
