import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { sleep, systemClock } from "@fjord/base";
import type { RegistryCredentials } from "../../runtime/index.ts";
import { CriRuntime } from "./cri-runtime.ts";
import { uniqueImage } from "./testing/registry-image.ts";
import { type RegistryAccess, TestRegistry } from "./testing/test-registry.ts";
import { containerdSkip, PrivateContainerd, program } from "./testing.ts";

const users = { mia: "right:password" };
const right: RegistryCredentials = { username: "mia", password: "right:password" };
const wrong: RegistryCredentials = { username: "mia", password: "old-password" };
const stranger: RegistryCredentials = { username: "noa", password: "right:password" };

describe("images from a registry", { skip: containerdSkip(), timeout: 120_000 }, () => {
  let containerd: PrivateContainerd;
  let runtime: CriRuntime;
  let open: TestRegistry;

  before(async () => {
    containerd = await PrivateContainerd.start();
    runtime = new CriRuntime(containerd);
    open = await TestRegistry.start(containerd);
  });

  after(async () => {
    await open?.[Symbol.asyncDispose]();
    await runtime?.close();
    await containerd?.stop();
  });

  beforeEach(() => {
    open.fault = undefined;
  });

  const push = async (registry: TestRegistry, name: string) =>
    registry.push(await uniqueImage(program("busybox")), name);
  const isThere = async (name: string) => (await runtime.images.status(name)) !== undefined;

  test("one for everybody is pulled without credentials, and by its digest", async () => {
    const name = await push(open, "app:1");
    assert.equal(await isThere(name), false);
    const id = await runtime.images.pull(name, []);
    const status = await runtime.images.status(name);
    assert.equal(status?.id, id);
    assert.deepEqual(status?.tags, [name]);
    assert.ok((status?.size ?? 0) > 1 << 20);
    const [digest = ""] = status?.digests ?? [];
    await runtime.images.remove(id);
    assert.equal(await isThere(name), false);
    assert.equal(await runtime.images.pull(digest, []), id);
  });

  for (const kind of ["basic", "bearer"] as const) {
    test(`a private one is pulled with the right password (${kind})`, async () => {
      const access: RegistryAccess = { kind, users };
      await using registry = await TestRegistry.start({ pid: containerd.pid, access });
      const name = await push(registry, "team/app:1");
      const refused = /401|authorization failed|unauthorized/i;
      await assert.rejects(runtime.images.pull(name, []), refused);
      await assert.rejects(runtime.images.pull(name, [wrong]), refused);
      await assert.rejects(runtime.images.pull(name, [stranger, wrong]), (error: Error) => {
        assert.doesNotMatch(String(error), /password/, "an error must not tell what was tried");
        return refused.test(error.message);
      });
      assert.equal(await isThere(name), false);
      // As pull secrets name it, which is not how containerd does.
      await runtime.images.pull(name, [stranger, wrong, { ...right, serverAddress: registry.address }]);
      assert.equal(await isThere(name), true);
    });
  }

  test("one that does not exist, or whose registry fails, is told as such and can be had later", async () => {
    await assert.rejects(runtime.images.pull(`${open.address}/none:1`, []), /not found/);
    const name = await push(open, "ill:1");
    for (const status of [500, 503, 401, 404]) {
      open.fault = { status };
      await assert.rejects(runtime.images.pull(name, []), new RegExp(status === 404 ? "not found" : `${status}`));
    }
    open.fault = undefined;
    await runtime.images.pull(name, []);
  });

  test("one that is cut off in the middle is not there, and is pulled again", async () => {
    const name = await push(open, "cut:1");
    open.fault = "cut";
    await assert.rejects(runtime.images.pull(name, []), /EOF|size validation/);
    assert.equal(await isThere(name), false);
    open.fault = undefined;
    await runtime.images.pull(name, []);
    assert.equal(await isThere(name), true);
  });

  test("a pull from a registry that says nothing ends when nobody wants it any more", async () => {
    const name = await push(open, "silent:1");
    open.fault = "silent";
    const controller = new AbortController();
    const pull = runtime.images.pull(name, [], controller.signal);
    while (open.pulls("silent:1") === 0) await sleep(systemClock, 10);
    controller.abort();
    await assert.rejects(pull);
    open.fault = undefined;
    await runtime.images.pull(name, []);
  });

  test("killing the runtime in a pull fails it; the next one succeeds", async () => {
    const name = await push(open, "killed:1");
    open.fault = "silent";
    const pull = assert.rejects(runtime.images.pull(name, []), /went away/);
    while (open.pulls("killed:1") === 0) await sleep(systemClock, 10);
    await containerd.killDaemon();
    await pull;
    open.fault = undefined;
    await containerd.startDaemon();
    await runtime.images.pull(name, []);
    assert.equal(await isThere(name), true);
  });
});
