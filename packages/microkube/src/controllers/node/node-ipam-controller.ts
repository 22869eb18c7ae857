import { Node, watches } from "@fjord/kube";
import type { ControlLoop } from "../control-loop.ts";
import { again, Loop } from "../loop.ts";
import { writeFields } from "../status-writer.ts";
import { RangeParts } from "./pod-range.ts";

/** Gives each node a part of the range that pods have their addresses from. */
export function nodeIpamController(podCidr: string, partBits = 24): ControlLoop {
  return (means) => {
    const loop = new Loop(means, "cidrAllocator");
    const nodes = loop.open(Node);
    const parts = new RangeParts(podCidr, partBits);
    const given = new Map<string, string>();
    return loop
      .hears(nodes, {
        onAdd: ({ spec }) => {
          if (spec?.podCIDR) parts.take(spec.podCIDR);
        },
        onDelete: ({ metadata, spec }) => {
          const part = spec?.podCIDR ?? given.get(metadata.uid ?? "");
          given.delete(metadata.uid ?? "");
          if (part) parts.release(part);
        },
      })
      .reconciles({
        sources: [watches(nodes, { when: ({ type, object }) => type !== "delete" && !object.spec?.podCIDR })],
        // One at a time: two nodes must not be offered the same part.
        concurrency: 1,
        async reconcile(request, { signal }) {
          const node = nodes.get(request);
          if (node === undefined || node.spec?.podCIDR) return { type: "done" };
          const { uid = "", name } = node.metadata;
          const part = given.get(uid) ?? parts.next();
          if (part === undefined) {
            loop.event(node, "Normal", "CIDRNotAvailable", `Node ${name} status is now: CIDRNotAvailable`);
            return again(60_000);
          }
          given.set(uid, part);
          await writeFields(means.client, Node, node, { spec: { podCIDR: part, podCIDRs: [part] } }, signal);
          return { type: "done" };
        },
      });
  };
}
