import assert from "node:assert/strict";
import { test } from "node:test";
import { moduleOrder } from "./module-order.ts";

test("modules go into a kernel after what they need, once each, in whatever order that is listed", () => {
  const dependencies = [
    "kernel/net/9p/9pnet_virtio.ko: kernel/drivers/virtio.ko kernel/net/9p/9pnet.ko kernel/drivers/virtio_ring.ko",
    "kernel/drivers/virtio.ko: kernel/drivers/virtio_ring.ko",
    "kernel/drivers/virtio_ring.ko:",
    "kernel/net/9p/9pnet.ko:",
    "kernel/fs/overlay.ko:",
    "",
  ].join("\n");
  const order = moduleOrder(dependencies, ["9pnet_virtio", "virtio", "overlay", "built_in"]);
  assert.deepEqual(
    order.map(({ name }) => name),
    ["virtio_ring", "virtio", "9pnet", "9pnet_virtio", "overlay"],
  );
  assert.equal(order.at(-1)?.path, "kernel/fs/overlay.ko");
});
