import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@fjord/base/testing";
import type { Continuum } from "../agents/index.ts";
import { Troubles } from "./troubles.ts";

/** Sites whose parts are all one process, and what was done to it. */
function oneProcess() {
  const done: string[] = [];
  const step = (what: string) => async () => void done.push(what);
  const process = { kill: step("kill"), start: step("start"), pause: step("pause"), resume: step("resume") };
  const bed = { site: () => ({ process: () => process }), sites: [], network: { reset: async () => {} } };
  return { continuum: { bed } as unknown as Continuum, done };
}

test("one process that is all of a control plane has the troubles of its parts one after the other", async () => {
  const clock = new ManualClock();
  const { continuum, done } = oneProcess();
  const troubles = new Troubles(continuum, clock);
  troubles.begin({ is: "kill", site: "site-1", process: "etcd", ms: 1_000 });
  troubles.begin({ is: "kill", site: "site-1", process: "kube-apiserver", ms: 100 });
  troubles.begin({ is: "pause", site: "site-1", process: "kube-scheduler", ms: 100 });
  await clock.advance(500);
  assert.deepEqual(done, ["kill"]);
  await clock.advance(2_000);
  assert.deepEqual(done, ["kill", "start", "kill", "start", "pause", "resume"]);
});

test("healing ends the one that is there, and begins none that waits", async () => {
  const { continuum, done } = oneProcess();
  const troubles = new Troubles(continuum, new ManualClock());
  troubles.begin({ is: "kill", site: "site-1", process: "etcd", ms: 60_000 });
  troubles.begin({ is: "pause", site: "site-1", process: "kube-apiserver", ms: 60_000 });
  await new Promise(setImmediate);
  await troubles.heal();
  assert.deepEqual(done, ["kill", "start"]);
});
