import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "@fjord/kube";
import { firstContainers, type PodSpec } from "../../environment/pod-containers.ts";
import { notesOn } from "./notes.ts";

const podOf = (spec: PodSpec): Pod => ({ apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec });
const notes = (spec: PodSpec, withoutCgroups?: string) =>
  notesOn(podOf(spec), firstContainers(podOf(spec)), withoutCgroups);
const byDefault = { type: "RuntimeDefault" } as const;

test("default profiles are not enforced, and that is said of each container that asks for one", () => {
  const spec: PodSpec = {
    securityContext: { seccompProfile: byDefault },
    initContainers: [{ name: "first" }],
    containers: [
      { name: "main", securityContext: { appArmorProfile: byDefault } },
      { name: "free", securityContext: { seccompProfile: { type: "Unconfined" } } },
    ],
  };
  assert.deepEqual(notes(spec), [
    "The seccompProfile RuntimeDefault of first, main is not enforced: processes are given no profile.",
    "The appArmorProfile RuntimeDefault of main is not enforced: processes are given no profile.",
  ]);
});

test("limits are not enforced without control groups", () => {
  const spec: PodSpec = { containers: [{ name: "main", resources: { limits: { cpu: "1" } } }, { name: "free" }] };
  assert.deepEqual(notes(spec, "control groups are turned off"), [
    "The limits of main are not enforced: control groups are turned off.",
  ]);
  assert.deepEqual(notes(spec), []);
});
