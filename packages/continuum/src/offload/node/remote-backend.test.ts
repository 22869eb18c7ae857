import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@fjord/base/testing";
import { ConnectionError, type Pod } from "@fjord/kube";
import type { OffloadedPod, OffloadedPods } from "../../offloaded-pods.ts";
import type { RemoteSite } from "../../remote-site.ts";
import { RemoteBackend } from "./remote-backend.ts";

const found = {
  pod: { metadata: { namespace: "shop", name: "db-0", uid: "later" } } as Pod,
  node: { name: "north" },
  twinNamespace: "twin",
} as OffloadedPod;

const address = { namespace: "shop", pod: "db-0", container: "main" };
const { signal } = new AbortController();
const streams = { tty: false };

test("what is asked of a pod is never asked of the guest of an earlier one of its name", async () => {
  let isPreceded = true;
  const asked: string[] = [];
  const exec = async ({ name }: { name: string }) => {
    asked.push(name);
    return { exitCode: 0 };
  };
  const backend = new RemoteBackend({
    node: "north",
    pods: { get: () => found, isPreceded: async () => isPreceded } as unknown as OffloadedPods,
    remote: () => ({ kube: { exec } }) as unknown as RemoteSite,
    summary: () => Promise.reject(new Error("nobody asks for it")),
    clock: new ManualClock(),
  });
  await assert.rejects(backend.exec(address, ["rm"], streams, signal), /shop\/db-0 has no guest behind north yet/);
  assert.deepEqual(asked, []);
  isPreceded = false;
  assert.equal(await backend.exec(address, ["ls"], streams, signal), 0);
  assert.deepEqual(asked, ["db-0"]);
});

test("where nobody answers who could say whose guest it is, kubectl's user is told so", async () => {
  const silent = new ConnectionError({
    action: "get Pod db-0",
    server: "https://north",
    reason: "timed out",
    sent: true,
  });
  const backend = new RemoteBackend({
    node: "north",
    pods: { get: () => found, isPreceded: () => Promise.reject(silent) } as unknown as OffloadedPods,
    remote: () => ({ kube: {} }) as RemoteSite,
    summary: () => Promise.reject(new Error("nobody asks for it")),
    clock: new ManualClock(),
  });
  const said = { status: 503, message: /the site behind north cannot be asked: .*timed out/ };
  await assert.rejects(backend.exec(address, ["ls"], streams, signal), said);
});
