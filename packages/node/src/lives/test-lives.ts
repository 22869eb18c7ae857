import assert from "node:assert/strict";
import { sleep, systemClock } from "@fjord/base";
import { Deployment, Pod } from "@fjord/kube";
import { type LifeBed, until } from "./test-life-bed.ts";
import { LifeChecks, uidOf } from "./test-life-checks.ts";
import { type FallingStep, type Fault, type LifePlan, lifePlans, type RisingStep } from "./test-life-plan.ts";
import { onceSpec, serverSpec, wholeSpec } from "./test-witness.ts";

export interface LivesOptions {
  readonly bed: LifeBed;
  readonly seed: number;
  readonly rounds: number;
  /** Whether a start that was under way may be lost, and of logs what the runtime had in its hands. */
  readonly runtimeDies: (plan: LifePlan) => boolean;
}

/** What each `npm test` plays: a change is not to be refused for what chance has found in another. */
const USUAL_SEED = 42;

/** Seed and number of rounds, from the environment where a long run is wanted; that plays something new unless told. */
export function livesSettings(rounds: number): { seed: number; rounds: number } {
  const { FJORD_LIVES_SEED, FJORD_LIVES_ROUNDS } = process.env;
  const seed = FJORD_LIVES_ROUNDS === undefined ? USUAL_SEED : Math.floor(Math.random() * 1e6);
  return {
    seed: Number(FJORD_LIVES_SEED ?? seed),
    rounds: Number(FJORD_LIVES_ROUNDS ?? rounds),
  };
}

const replicas = 2;

/** Whole lives of pods one after the other, something being killed in each, beside a deployment that nothing disturbs. */
export async function liveThrough(options: LivesOptions): Promise<void> {
  const { bed, seed, rounds } = options;
  const checks = new LifeChecks(bed);
  await checks.nodeReady();
  const steady = await startSteady(bed, checks);
  for (const [index, plan] of lifePlans(seed, bed.parts, rounds).entries()) {
    const began = systemClock.now();
    const text = `seed ${seed}, round ${index}: ${JSON.stringify(plan)}`;
    try {
      await live(index, plan, options, checks);
      for (const pod of steady) await checks.lived(pod, "server", { starts: 1 });
    } catch (error) {
      throw new Error(`${text}\n${error instanceof Error ? error.message : error}`, { cause: error });
    }
    process.stdout.write(`${text} (${Math.round((systemClock.now() - began) / 1000)} s)\n`);
  }
}

async function startSteady(bed: LifeBed, checks: LifeChecks): Promise<Pod[]> {
  const { namespace, admin, place } = bed;
  const labels = { app: "steady" };
  await admin.create(Deployment, {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "steady", namespace },
    spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: serverSpec(place) } },
  });
  const pods = await until("the deployment's pods", async () => {
    const { items } = await admin.list(Pod, { namespace, labelSelector: "app=steady" });
    return items.length === replicas && items;
  });
  return Promise.all(pods.map(({ metadata }) => checks.ready(metadata.name ?? "")));
}

/** One round: pods come up, something is killed and comes back, they are whole; they go, something is killed again. */
async function live(index: number, plan: LifePlan, options: LivesOptions, checks: LifeChecks): Promise<void> {
  const { bed } = options;
  const { place } = bed;
  const whole = await checks.create(`whole-${index}`, wholeSpec(place));
  const once = await checks.create(`once-${index}`, onceSpec(place));
  const late = await checks.create(`late-${index}`, serverSpec(place));
  await strike(bed, plan.rising, () => hasRisen(plan.rising.step, bed, checks, whole));
  await checks.nodeReady();
  for (const pod of [whole, late]) await checks.ready(pod.metadata.name ?? "");
  await checks.status(`whole-${index}`, "b restarted", (status) =>
    status.containerStatuses?.some(({ name, restartCount, ready }) => name === "b" && restartCount > 0 && ready),
  );
  const runtimeDied = options.runtimeDies(plan);
  if (!(runtimeDied && (await checks.wasLost(once)))) await checks.ranOnce(once, runtimeDied);
  for (const name of ["init", "side", "a"]) await checks.livedThrough(whole, name, 1, runtimeDied);
  await checks.livedThrough(whole, "b", 2, runtimeDied);
  await checks.livedThrough(late, "server", 1, runtimeDied);
  await checks.runsAsTold(`whole-${index}`);
  await end(plan, { whole, once, late }, bed, checks);
}

async function end(
  { falling, force }: LifePlan,
  pods: { whole: Pod; once: Pod; late: Pod },
  bed: LifeBed,
  checks: LifeChecks,
): Promise<void> {
  const all = Object.values(pods);
  const isDead = falling.step === "dead";
  if (isDead) await bed.kill("node");
  for (const { metadata } of all) await checks.delete(metadata.name ?? "", force ? 0 : undefined);
  const rest: Fault<FallingStep> = isDead
    ? { ...falling, parts: falling.parts.filter((part) => part !== "node") }
    : falling;
  await strike(bed, rest, () => force || hasFallen(falling.step, checks, pods.whole));
  if (isDead) await bed.start("node");
  for (const pod of all) await checks.gone(pod);
  await checks.nodeReady();
  await checks.nothingTooMuch();
  if (force || isDead) return;
  assert.ok(checks.witness(pods.whole).has("a.prestops"), "the preStop hook of a ran");
  for (const name of ["a", "side"]) {
    assert.ok(checks.witness(pods.whole).has(`${name}.ends`), `${name} had the time to end by itself`);
  }
}

/** Kills the parts once the step was reached, and starts them again. */
async function strike<Step>(bed: LifeBed, fault: Fault<Step>, reached: () => boolean): Promise<void> {
  const { parts, delay, outage, gap } = fault;
  const end = systemClock.now() + 30_000;
  while (!reached() && systemClock.now() < end) await sleep(systemClock, 4);
  await sleep(systemClock, delay);
  await Promise.all(parts.map((part) => bed.kill(part)));
  await sleep(systemClock, outage);
  for (const [index, part] of parts.entries()) {
    if (index > 0) await sleep(systemClock, gap);
    await bed.start(part);
  }
  await bed.site.ready({ timeout: 90_000 });
}

function hasRisen(step: RisingStep, bed: LifeBed, checks: LifeChecks, pod: Pod): boolean {
  const witness = checks.witness(pod);
  if (step === "asked") return true;
  if (step === "sandbox") return bed.traces(uidOf(pod)).sandboxes > 0;
  if (step === "created") return bed.traces(uidOf(pod)).containers > 0;
  if (step === "running") return witness.has("a.starts");
  if (step === "stumbled") return witness.has("b.starts");
  return witness.has(`${step}.starts`);
}

function hasFallen(step: FallingStep, checks: LifeChecks, pod: Pod): boolean {
  const witness = checks.witness(pod);
  if (step === "preStop") return witness.has("a.prestops");
  if (step === "term") return witness.has("a.terms");
  if (step === "ended") return witness.has("a.ends");
  return true;
}
