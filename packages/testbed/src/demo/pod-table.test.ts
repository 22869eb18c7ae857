import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "@fjord/kube";
import { podTable } from "./pod-table.ts";

test("pods are listed with where they run and how they are", () => {
  const containers = [{ name: "main" }];
  const pods = [
    {
      metadata: { name: "web-2" },
      spec: { nodeName: "lively-wave", containers },
      status: { phase: "Running", containerStatuses: [{ ready: true }] },
    },
    { metadata: { name: "web-10" }, spec: { containers }, status: {} },
    { metadata: { name: "api", deletionTimestamp: "now" }, spec: { nodeName: "harbor", containers }, status: {} },
  ] as unknown as Pod[];
  assert.equal(
    podTable(pods),
    [
      "NAME     READY   STATUS        NODE",
      "api      0/1     Terminating   harbor",
      "web-10   0/1     Pending       <none>",
      "web-2    1/1     Running       lively-wave",
      "",
    ].join("\n"),
  );
});
