import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readdir, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, test } from "node:test";
import { type LogFields, type Logger, silentLogger, systemClock } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import type { ConfigMap, Pod } from "@fjord/kube";
import { NodeStore } from "./node-store.ts";

const directory = await mkdtemp(join(tmpdir(), "fjord-store-"));
after(() => rm(directory, { recursive: true }));
let count = 0;

function newFile(): string {
  return join(directory, `node-${++count}.db`);
}

function open(file: string, logger: Logger = silentLogger): Promise<NodeStore> {
  return NodeStore.open({ file, logger, clock: new ManualClock() });
}

function listening(): { logger: Logger; errors: [string, LogFields | undefined][] } {
  const errors: [string, LogFields | undefined][] = [];
  return { errors, logger: { ...silentLogger, error: (message, fields) => errors.push([message, fields]) } };
}

function pod(uid: string): Pod {
  return { apiVersion: "v1", kind: "Pod", metadata: { name: `p-${uid}`, namespace: "default", uid } };
}

test("what was put is there after the store was opened again", async () => {
  const file = newFile();
  const map: ConfigMap = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "c", namespace: "n" },
    data: { a: "1" },
  };
  {
    using store = await open(file);
    store.putPod(pod("1"));
    store.putPod(pod("2"));
    store.removePod("2");
    store.putObject(map);
    store.putToken("1", "api", { token: "t" });
    store.putEntry("engine", "1", { phase: "Failed" });
  }
  using again = await open(file);
  assert.deepEqual(again.pods(), [pod("1")]);
  assert.equal(again.hasPod("1"), true);
  assert.equal(again.hasPod("2"), false);
  assert.deepEqual(again.object({ kind: "ConfigMap", namespace: "n", name: "c" }), map);
  assert.deepEqual(again.objects("ConfigMap"), [map]);
  assert.deepEqual(again.objectKeys(), [{ kind: "ConfigMap", namespace: "n", name: "c" }]);
  assert.deepEqual(again.token("1", "api"), { token: "t" });
  assert.deepEqual(again.tokenPods(), ["1"]);
  assert.deepEqual([...again.entries("engine")], [["1", { phase: "Failed" }]]);
  again.removeTokens("1");
  again.removeEntry("engine", "1");
  again.removeObject({ kind: "ConfigMap", namespace: "n", name: "c" });
  assert.equal(again.token("1", "api"), undefined);
  assert.equal(again.entry("engine", "1"), undefined);
  assert.deepEqual(again.objects("ConfigMap"), []);
});

test("nobody else may read the file or those beside it", async () => {
  const file = newFile();
  using store = await open(file);
  store.putPod(pod("1"));
  for (const suffix of ["", "-wal"]) assert.equal((await stat(file + suffix)).mode & 0o777, 0o600, suffix);
});

test("a transaction that fails leaves nothing of itself, and the store usable", async () => {
  const { logger, errors } = listening();
  using store = await open(newFile(), logger);
  store.transaction(() => {
    store.putPod(pod("1"));
    throw new Error("disk full");
  });
  assert.deepEqual(store.pods(), []);
  assert.match(String(errors[0]?.[1]?.error), /disk full/);
  store.putPod(pod("2"));
  assert.equal(store.pods().length, 1);
});

const damages: Record<string, (file: string) => Promise<void>> = {
  "is not a database": (file) => writeFile(file, "this is no database, whatever its name says".repeat(50)),
  "was cut in the middle": async (file) => {
    const store = await open(file);
    for (let i = 0; i < 200; i++)
      store.putPod({ ...pod(String(i)), spec: { containers: [], nodeName: "x".repeat(2000) } });
    store.close();
    await truncate(file, 20_000);
  },
  "was written by a later version": async (file) => {
    const database = new DatabaseSync(file);
    database.exec("PRAGMA user_version = 1000");
    database.close();
  },
};
for (const [what, damage] of Object.entries(damages)) {
  test(`a file that ${what} is set aside, and a new store works`, async () => {
    const file = newFile();
    await damage(file);
    const { logger, errors } = listening();
    using store = await open(file, logger);
    store.putPod(pod("1"));
    assert.deepEqual(store.pods(), [pod("1")]);
    assert.equal(errors.length, 1);
    const aside = String(errors[0]?.[1]?.aside);
    assert.ok(
      (await readdir(directory)).some((name) => aside.endsWith(name)),
      aside,
    );
  });
}

test("a folder that cannot be written to is an error that says so", { skip: process.getuid?.() === 0 }, async () => {
  const locked = await mkdtemp(join(directory, "locked-"));
  await chmod(locked, 0o500);
  await assert.rejects(open(join(locked, "node.db")), { code: "NODE_STORE_UNUSABLE" });
});

test("a missing folder is an error that says so", async () => {
  await assert.rejects(open(join(directory, "nowhere", "node.db")), { code: "NODE_STORE_UNUSABLE" });
});

test("whatever was acknowledged outlasts SIGKILL", async () => {
  const file = newFile();
  const program = `
    import { NodeStore } from ${JSON.stringify(new URL("node-store.ts", import.meta.url).href)};
    import { silentLogger, systemClock } from "@fjord/base";
    const store = await NodeStore.open({ file: ${JSON.stringify(file)}, logger: silentLogger, clock: systemClock });
    for (let i = 0; ; i++) {
      store.transaction(() => store.putPod({ metadata: { uid: String(i) } }), { durable: i % 2 === 0 });
      process.stdout.write(i + "\\n");
      await new Promise(setImmediate);
    }`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    cwd: import.meta.dirname,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  for await (const chunk of child.stdout) {
    output += chunk;
    if (output.split("\n").length > 50) child.kill("SIGKILL");
  }
  const acknowledged = output.split("\n").slice(0, -1).length;
  using store = await open(file);
  assert.ok(store.pods().length >= acknowledged, `${store.pods().length} of ${acknowledged}`);
});

test("a store that another process has open is refused, and free again when that is killed", async (context) => {
  const file = newFile();
  const holder = spawn(
    process.execPath,
    [
      "--input-type=module-typescript",
      "--eval",
      `import { NodeStore } from ${JSON.stringify(new URL("./node-store.ts", import.meta.url).href)};
     import { silentLogger, systemClock } from "@fjord/base";
     await NodeStore.open({ file: ${JSON.stringify(file)}, clock: systemClock, logger: silentLogger });
     console.log("open"); setInterval(() => {}, 1000);`,
    ],
    { cwd: import.meta.dirname, stdio: ["ignore", "pipe", "inherit"] },
  );
  context.after(() => holder.kill("SIGKILL"));
  await once(holder.stdout, "data");
  await assert.rejects(open(file), { code: "NODE_STORE_IN_USE" });
  // Told at once, and not only when the time is over in which the other may stop.
  const said: string[] = [];
  const warn = (message: string) => {
    said.push(message);
    holder.kill("SIGKILL");
  };
  const store = await NodeStore.open({ file, clock: systemClock, logger: { ...silentLogger, warn } });
  store[Symbol.dispose]();
  assert.deepEqual(said, ["another process uses the node's store: waiting for it to stop"]);
});
