import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { seededRandom } from "@fjord/base";
import { builtInResources, builtInSchemas } from "../schema/index.ts";
import { Choice } from "./bad-input/choice.ts";
import { hostileBytes } from "./bad-input/hostile-bytes.ts";
import { HostileRequests } from "./bad-input/hostile-request.ts";
import { seeds } from "./bad-input/seeds.ts";
import { type HostileAnswer, HostileClient } from "./bad-input/test-client.ts";

// FJORD_BAD_REQUESTS=100000 is the long form; FJORD_SEED chooses other requests.
const REQUESTS = Number(process.env.FJORD_BAD_REQUESTS ?? 1500);
const SEED = Number(process.env.FJORD_SEED ?? 1);
const AT_ONCE = 16;
/** What is not the server's own failure: nothing is behind a proxy, nobody has answered it in time. */
const UNAVAILABLE = [501, 502, 503, 504];

let server: HostileClient;
before(async () => {
  server = await HostileClient.start();
  await reset();
});
after(() => server[Symbol.asyncDispose]());

const json = { "content-type": "application/json" };
/** What is aimed at is there, and as it should be. */
async function reset(): Promise<void> {
  await server.send({ method: "POST", path: "/api/v1/namespaces", headers: json, body: namespace });
  for (const { path, object } of seeds) {
    const body = JSON.stringify(object);
    let { code } = await server.send({ method: "POST", path, headers: json, body });
    // A definition's resources are served a moment later.
    for (let tries = 0; code === 404 && tries < 50; tries++) {
      await pause(100);
      ({ code } = await server.send({ method: "POST", path, headers: json, body }));
    }
    assert([201, 409].includes(code), `${path}: ${code}`);
  }
}

const namespace = JSON.stringify({ metadata: { name: "hostile" } });

/** What the requests have made, gone again. */
async function clean(): Promise<void> {
  for (const { group, version, plural, verbs, namespaced } of builtInResources()) {
    if (!verbs.includes("deletecollection") || ["clusterroles", "clusterrolebindings"].includes(plural)) continue;
    const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
    for (const space of namespaced ? ["/namespaces/default", "/namespaces/hostile"] : [""]) {
      const path = `${root}${space}/${plural}`;
      await server.send({ method: "DELETE", path: `${path}?gracePeriodSeconds=0`, headers: {} });
    }
  }
}

/** Calls it for each number, several at a time. */
async function several(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

test(`${REQUESTS} requests of nonsense get a Status each, and the server stays as it was`, {
  timeout: 1_800_000,
}, async (t) => {
  const choice = new Choice(seededRandom(SEED));
  const requests = new HostileRequests(choice, builtInResources(), builtInSchemas());
  const codes = new Map<number, number>();
  const slowest = { milliseconds: 0, what: "" };
  const wrong: string[] = [];
  const rounds = REQUESTS < 10_000 ? 3 : 5;
  const memory = [];
  for (let round = 0; round < rounds; round++) {
    await several(REQUESTS / rounds, async () => {
      const request = requests.next();
      const { method, path, headers, body } = request;
      const what = `seed ${SEED}, ${method} ${path.slice(0, 300)} ${JSON.stringify(headers).slice(0, 300)} ${JSON.stringify(String(body)).slice(0, 3000)}`;
      let answer: HostileAnswer;
      try {
        answer = await server.send(request);
      } catch (error) {
        wrong.push(`${(error as Error).message} for ${what}`);
        return;
      }
      const { code, text, milliseconds } = answer;
      codes.set(code, (codes.get(code) ?? 0) + 1);
      if (milliseconds > slowest.milliseconds) Object.assign(slowest, { milliseconds, what });
      if (code >= 500 && !UNAVAILABLE.includes(code)) wrong.push(`${code} ${text.slice(0, 600)} for ${what}`);
      else if (code >= 400 && method !== "HEAD" && !isStatus(text))
        wrong.push(`${code} without a Status: ${text.slice(0, 600)} for ${what}`);
    });
    assert(server.isAlive, `the server has ended: ${server.said.join("")}`);
    await clean();
    await reset();
    memory.push(await server.memory());
  }
  const shown = [...codes].sort(([a], [b]) => a - b).map(([code, times]) => `${code}: ${times}`);
  t.diagnostic(`requests ${REQUESTS}, answers ${shown.join(", ")}`);
  t.diagnostic(`longest piece of work ${Math.max(...memory.map(({ longest }) => longest))} ms of processor time`);
  t.diagnostic(`slowest answer ${Math.round(slowest.milliseconds)} ms: ${slowest.what.slice(0, 200)}`);
  t.diagnostic(
    `live MB after each part: ${memory.map(({ live }) => (live / 1e6).toFixed(1)).join(", ")}; resident ${memory.map(({ resident }) => (resident / 1e6).toFixed(0)).join(", ")}`,
  );
  assert(
    memory.every(({ longest }) => longest < 5_000),
    "a request has stopped the server for seconds",
  );
  assert.deepEqual(wrong.slice(0, 20), [], `${wrong.length} of ${REQUESTS} are wrong`);
  const second = memory[1];
  const last = memory.at(-1);
  assert(last !== undefined && second !== undefined);
  assert(last.live < second.live * 1.1 + 2e6, `live bytes grow from ${second.live} to ${last.live}`);
  assert.equal((await server.send({ method: "GET", path: "/readyz", headers: {} })).text, "ok");
});

test("what is cut off, smuggled or no HTTP at all harms nobody", { timeout: 1_800_000 }, async (t) => {
  const choice = new Choice(seededRandom(SEED));
  const count = Math.ceil(REQUESTS / 10);
  const wrong: string[] = [];
  let answered = 0;
  await several(count, async () => {
    const bytes = hostileBytes(choice);
    const all = await server.say(bytes, { cutsOff: choice.chance(0.2), isAnonymous: choice.chance(0.1) });
    if (all !== "") answered++;
    if (/^HTTP\/1\.1 (500|502)/m.test(all) || all.includes("smuggled"))
      wrong.push(`${all.slice(0, 500)} for ${bytes.toString("latin1").slice(0, 500)}`);
    if (
      /^HTTP\/1\.1 [45]/.test(all) &&
      !bytes.includes("HEAD") &&
      !all.includes('"kind":"Status"') &&
      !all.includes('"kind": "Status"')
    )
      wrong.push(`${all.slice(0, 500)} for ${bytes.toString("latin1").slice(0, 500)}`);
  });
  t.diagnostic(`connections ${count}, answered ${answered}`);
  assert.deepEqual(wrong.slice(0, 20), [], `${wrong.length} of ${count} are wrong`);
  assert(server.isAlive, server.said.join(""));
  assert.equal((await server.send({ method: "GET", path: "/readyz", headers: {} })).text, "ok");
});

function isStatus(text: string): boolean {
  return /^\{\s*"kind":\s*"Status"/.test(text) || /^kind: Status$/m.test(text);
}
