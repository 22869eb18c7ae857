import { byNode, type Cache, isBeingDeleted, Lease, Node, Pod, requestFor, updatesWhere, watches } from "@fjord/kube";
import type { ControlLoop, ControlMeans } from "../control-loop.ts";
import { again, Loop, unlessGone } from "../loop.ts";
import { writeFields, writeStatus } from "../status-writer.ts";
import { isPodReady, timestamp } from "../workload/pod-state.ts";
import {
  feel,
  momentsOf,
  type Pulse,
  readyCondition,
  silentConditions,
  untilSilent,
  wantedTaints,
} from "./node-health.ts";

const LEASES = "kube-node-lease";

/** Notices nodes that have fallen silent, and taints nodes by their conditions. */
export const nodeLifecycleController: ControlLoop = (means) => {
  const loop = new Loop(means, "node-controller");
  const nodes = loop.open(Node);
  const leases = loop.open(Lease);
  const pods = loop.open(Pod, { node: byNode });
  const pulses = new Map<string, Pulse>();
  const moment = momentsOf(means.clock);
  return loop
    .hears(nodes, {
      onAdd: (node) => {
        const { name } = node.metadata;
        loop.event(node, "Normal", "RegisteredNode", `Node ${name} event: Registered Node ${name} in Controller`);
      },
      onDelete: (node) => {
        const { name, uid } = node.metadata;
        pulses.delete(uid ?? "");
        loop.event(node, "Normal", "RemovingNode", `Node ${name} event: Removing Node ${name} from Controller`);
      },
    })
    .reconciles({
      sources: [
        watches(nodes),
        // Whether pods may be driven away depends on the other nodes.
        watches(nodes, {
          when: updatesWhere((old, node) => readyCondition(old)?.status !== readyCondition(node)?.status),
          map: () => nodes.list().map(requestFor),
        }),
        watches(leases, {
          // Renewals come every few seconds from each node: they are looked at when its time is up.
          when: ({ type, object }) => type === "add" && object.metadata.namespace === LEASES,
          map: ({ metadata }) => [{ name: metadata.name ?? "" }],
        }),
      ],
      async reconcile(request, { signal }) {
        let node = nodes.get(request);
        if (node === undefined || isBeingDeleted(node)) return { type: "done" };
        const { uid = "", name = "" } = node.metadata;
        const seen = moment();
        const now = seen.clock;
        const lease = { name, namespace: LEASES };
        let pulse = feel(pulses.get(uid), node, leases.get(lease), seen);
        let left = untilSilent(node, pulse, seen);
        if (left === 0 && readyCondition(node)?.status !== "Unknown") {
          // By the server's word: it may be this process that has heard nothing for a while.
          pulse = feel(pulse, node, await unlessGone(means.client.get(Lease, lease, { signal })), moment());
          left = untilSilent(node, pulse, moment());
        }
        pulses.set(uid, pulse);
        const wasReady = readyCondition(node)?.status === "True";
        if (left === 0 && readyCondition(node)?.status !== "Unknown") {
          const status = { ...node.status, conditions: silentConditions(node, now) };
          node = await writeStatus(means.client, Node, node, { status }, signal);
          if (wasReady) loop.event(node, "Normal", "NodeNotReady", `Node ${name} status is now: NodeNotReady`);
        }
        const evicts = nodes.list().some((other) => readyCondition(other)?.status === "True");
        const taints = wantedTaints(node, evicts, now);
        if (taints !== undefined) node = await writeFields(means.client, Node, node, { spec: { taints } }, signal);
        if (readyCondition(node)?.status !== "True") await markPods(means, loop, pods, name, signal);
        // A silent node is looked at now and then: its lease may come back before its status does.
        return again(left === 0 ? 5_000 : left + 100);
      },
    });
};

/** Pods on a node that is not ready cannot be called ready. */
async function markPods(means: ControlMeans, loop: Loop, pods: Cache<Pod>, node: string, signal: AbortSignal) {
  for (const pod of pods.byIndex("node", node)) {
    if (!isPodReady(pod)) continue;
    const condition = { type: "Ready", status: "False", lastTransitionTime: timestamp(means.clock.now()) };
    const patch = { metadata: { uid: pod.metadata.uid }, status: { conditions: [condition] } };
    const options = { subresource: "status", signal };
    const marked = await unlessGone(means.client.patch(Pod, requestFor(pod), "strategic", patch, options));
    if (marked !== undefined) loop.event(pod, "Warning", "NodeNotReady", "Node is not ready");
  }
}
