import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "@fjord/kube";
import { whyNotStarted } from "./why-not-started.ts";

const pod = (status: object, more: object = {}): Pod =>
  ({ apiVersion: "v1", kind: "Pod", metadata: { name: "fjord-agent-1", ...more }, status }) as unknown as Pod;
const waiting = (reason: string, message?: string) => ({
  containerStatuses: [{ name: "agent", state: { waiting: { reason, message } } }],
});

test("of an image that cannot be pulled the reason of the pull is told", () => {
  const status = waiting("ErrImagePull", "registry.example/fjord:7: not found");
  assert.equal(whyNotStarted([pod(status)]), "pod fjord-agent-1: ErrImagePull: registry.example/fjord:7: not found");
});

test("of a program that ends again and again its error is told", () => {
  const state = { waiting: { reason: "CrashLoopBackOff", message: "back-off 20s restarting failed container" } };
  const said = (message: string) =>
    whyNotStarted([pod({ containerStatuses: [{ name: "agent", state, lastState: { terminated: { message } } }] })]);
  const refused = "info  it starts\nerror: unknown option '--sitename'\n`--help` says what there is\n";
  assert.equal(said(refused), `pod fjord-agent-1: CrashLoopBackOff: it ended with "unknown option '--sitename'"`);
  assert.equal(said("Killed\n"), 'pod fjord-agent-1: CrashLoopBackOff: it ended with "Killed"');
  assert.equal(said(""), "pod fjord-agent-1: CrashLoopBackOff: back-off 20s restarting failed container");
});

test("of a pod that no node takes the scheduler's word is told", () => {
  const condition = {
    type: "PodScheduled",
    status: "False",
    reason: "Unschedulable",
    message: "0/1 nodes are available",
  };
  assert.equal(
    whyNotStarted([pod({ conditions: [condition] })]),
    "pod fjord-agent-1: Unschedulable: 0/1 nodes are available",
  );
});

test("pods that run, are on their way or are going are no trouble", () => {
  const running = { containerStatuses: [{ name: "agent", state: { running: {} } }] };
  const going = pod(waiting("CrashLoopBackOff"), { deletionTimestamp: "2030-01-01T00:00:00Z" });
  assert.equal(whyNotStarted([pod(running), pod(waiting("ContainerCreating")), pod({}), going]), undefined);
});
