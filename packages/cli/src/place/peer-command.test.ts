import assert from "node:assert/strict";
import { test } from "node:test";
import { newObject, Peering } from "@fjord/api";
import { peerCommand } from "./peer-command.ts";

test("the slice behind a node is resized by the name of its peering, where that is not the site's", () => {
  const peering = (name: string, node?: string) =>
    newObject(Peering, {
      metadata: { name },
      spec: { site: "otter", resources: { cpu: "1" }, virtualNode: { ...(node !== undefined && { name: node }) } },
    });
  const peerings = [peering("otter"), peering("second"), peering("third", "big-otter")];
  const command = (node: string | undefined) => peerCommand({ peerings }, "otter", node);
  assert.deepEqual(["otter", "second", "big-otter", "of-nobody", undefined].map(command), [
    "fjord peer otter",
    "fjord peer otter --name=second",
    "fjord peer otter --name=third",
    "fjord peer otter",
    "fjord peer otter",
  ]);
});
