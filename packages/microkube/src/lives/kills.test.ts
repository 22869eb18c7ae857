import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { seededRandom } from "@fjord/base";
import { buildProgram } from "@fjord/testbed/bench";
import { freePort } from "@fjord/testbed/testing";
import { TestProgram } from "./test-program.ts";
import { TestWatcher } from "./test-watcher.ts";
import { type Known, SPACE, TestWriter } from "./test-writer.ts";

// FJORD_KILLS=200 is the long form; FJORD_SEED chooses other moments.
const KILLS = Number(process.env.FJORD_KILLS ?? 4);
const SEED = Number(process.env.FJORD_SEED ?? 1);
const WRITERS = 6;
const LONGEST_WORK_MS = 5_000;
const DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments";

interface List<T> {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly T[];
}

test(`after ${KILLS} kill -9 of the program under load nothing is lost, nothing is there twice, and all goes on`, {
  timeout: 3_600_000,
}, async (t) => {
  // Below the package, where the bundle finds its data and its dependencies.
  const folder = mkdtempSync(join(import.meta.dirname, "../../.bench-lives-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const random = seededRandom(SEED);
  const program = new TestProgram(
    await buildProgram("microkube/src/cli.ts", folder),
    join(folder, "data"),
    await freePort(),
  );
  t.after(() => program.kill());
  await program.start("process");
  const first = await list<object>(program, SPACE);
  const revision = Number(first.metadata.resourceVersion);
  const writers = Array.from({ length: WRITERS }, (_, number) => new TestWriter(program, number, random));
  const watchers = ["", "&allowWatchBookmarks=true", "", "&labelSelector=writer"].map(
    (query) => new TestWatcher(program, revision, query),
  );
  const scales = new Map<string, number>();
  const scale = () => scaleDeployments(program, scales, random);
  for (let kill = 0; kill < KILLS; kill++) {
    const work = Promise.all([...writers, ...watchers].map((one) => one.run()).concat(scale()));
    work.catch(() => {});
    await someWork(writers, random);
    await program.kill();
    await work;
    const survives = random() < 0.5 ? "machine" : "process";
    if (random() < 0.2) {
      // Again, while it starts.
      program.spawn(survives);
      await pause(random() * 500);
      await program.kill();
    }
    await program.start(survives);
    await compare(program, writers);
  }
  const last = Promise.all(watchers.map((one) => one.run()));
  last.catch(() => {});
  const { metadata, items } = await list<Seen>(program, SPACE);
  const now = new Map(items.filter(isWritten).map(({ metadata: { name }, data }) => [name, Number(data.v)]));
  // One write more, so that each watcher has something to have seen.
  const mark = await program.send("POST", SPACE, { metadata: { name: "end", labels: { writer: "end" } } });
  assert.equal(mark?.code, 201);
  await until(() => watchers.every((one) => one.revision > Number(metadata.resourceVersion)), "watchers see the end");
  for (const watcher of watchers) assert.deepEqual(new Map([...watcher.versions].sort()), new Map([...now].sort()));
  await converges(program, scales);
  await program.kill();
  await last;
  program.close();
  const acknowledged = writers.reduce((sum, one) => sum + one.acknowledged, 0);
  t.diagnostic(
    `kills ${KILLS}, acknowledged writes ${acknowledged}, objects in the end ${now.size}, events of each watcher ${watchers.map(({ events }) => events).join(", ")}, Deployments ${scales.size}`,
  );
  assert(acknowledged > KILLS);
});

/** Until some more writes were acknowledged, and at any moment of the next one. */
async function someWork(writers: readonly TestWriter[], random: () => number): Promise<void> {
  const all = () => writers.reduce((sum, one) => sum + one.acknowledged, 0);
  const wanted = all() + random() * 80;
  const end = Date.now() + LONGEST_WORK_MS;
  while (all() < wanted && Date.now() < end) await pause(5);
  await pause(random() * 20);
}

interface Seen {
  readonly metadata: { readonly name: string };
  readonly data: { readonly v: string };
}

const isWritten = ({ metadata }: Seen) => metadata.name.startsWith("w");

/** All that was acknowledged is there, and what was under way has happened wholly or not at all. */
async function compare(program: TestProgram, writers: readonly TestWriter[]): Promise<void> {
  const { items } = await list<Seen>(program, SPACE);
  const there = new Map(items.filter(isWritten).map(({ metadata, data }) => [metadata.name, Number(data.v)]));
  assert.equal(there.size, items.filter(isWritten).length, "an object is there twice");
  for (const [name, known] of writers.flatMap((one) => [...one.known])) {
    const version = there.get(name) ?? -1;
    const possible = known.pending === undefined ? [known.version] : [known.version, known.pending];
    assert(possible.includes(version), `${name} is at ${version}, not at ${possible.join(" or ")}`);
    settle(known, version);
    there.delete(name);
  }
  assert.deepEqual([...there.keys()], [], "objects that nobody has made");
}

function settle(known: Known, version: number): void {
  known.version = version;
  known.pending = undefined;
}

/** Makes Deployments and scales them, until the program does not answer. */
async function scaleDeployments(
  program: TestProgram,
  scales: Map<string, number>,
  random: () => number,
): Promise<void> {
  for (;;) {
    const name = `d${Math.floor(random() * 5)}`;
    const replicas = Math.floor(random() * 6);
    const labels = { app: name };
    const template = { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } };
    const applied = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name },
      spec: { replicas, selector: { matchLabels: labels }, template },
    };
    const path = `${DEPLOYMENTS}/${name}?fieldManager=test&force=true`;
    const answer = await program.send("PATCH", path, applied, "application/apply-patch+yaml");
    if (answer === undefined) return;
    assert(answer.code < 300, JSON.stringify(answer));
    scales.set(name, replicas);
    await pause(30);
  }
}

interface Pod {
  readonly metadata: { readonly labels: Record<string, string>; readonly deletionTimestamp?: string };
}

interface Deployment {
  readonly metadata: { readonly name: string; readonly generation: number };
  readonly spec: { readonly replicas: number };
  readonly status: { readonly observedGeneration?: number; readonly replicas?: number };
}

/** Each Deployment has as many pods as it wants, and says so. */
async function converges(program: TestProgram, scales: ReadonlyMap<string, number>): Promise<void> {
  await until(async () => {
    const pods = await list<Pod>(program, "/api/v1/namespaces/default/pods");
    const deployments = await list<Deployment>(program, DEPLOYMENTS);
    const counts = new Map<string, number>();
    for (const { metadata } of pods.items)
      counts.set(metadata.labels.app ?? "", (counts.get(metadata.labels.app ?? "") ?? 0) + 1);
    return (
      deployments.items.length >= scales.size &&
      deployments.items.every(
        ({ metadata: { name, generation }, spec, status }) =>
          (counts.get(name) ?? 0) === spec.replicas &&
          (status.replicas ?? 0) === spec.replicas &&
          status.observedGeneration === generation,
      )
    );
  }, "Deployments have their pods");
}

async function list<T>(program: TestProgram, path: string): Promise<List<T>> {
  const answer = await program.send("GET", path);
  assert.equal(answer?.code, 200, JSON.stringify(answer));
  return answer.body as List<T>;
}

async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const end = Date.now() + 60_000;
  while (!(await holds())) {
    assert(Date.now() < end, `in a minute it is not so that ${what}`);
    await pause(100);
  }
}
