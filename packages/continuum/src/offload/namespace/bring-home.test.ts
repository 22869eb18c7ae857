import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError, type KubeClient, type Pod } from "@fjord/kube";
import { deletePod } from "./bring-home.ts";

const pod: Pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "db-0", namespace: "shop", uid: "1" } };
const { signal } = new AbortController();

function clientThat(statusCode: number, reason: string): KubeClient {
  const refused = new ApiError({
    action: "delete it",
    statusCode,
    status: { kind: "Status", code: statusCode, reason, message: "no" },
  });
  return { delete: () => Promise.reject(refused) } as unknown as KubeClient;
}

test("a pod that is gone is home, even where another one has its name", async () => {
  await deletePod(clientThat(404, "NotFound"), pod, signal);
  await deletePod(clientThat(409, "Conflict"), pod, signal);
  await assert.rejects(deletePod(clientThat(403, "Forbidden"), pod, signal));
});
