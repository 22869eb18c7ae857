import {
  byNode,
  type Cache,
  isBeingDeleted,
  Node,
  Pod,
  type Request,
  requestFor,
  updatesWhere,
  watches,
} from "@fjord/kube";
import type { ControlLoop } from "../control-loop.ts";
import { again, Loop, unlessGone } from "../loop.ts";
import { markDisrupted } from "../pod-upkeep/disruption-target.ts";
import { sameValue } from "../same-value.ts";
import { type Taint, toleratedSeconds } from "../taint.ts";
import { isPodFinished, timeOf } from "../workload/pod-state.ts";

const disruption = {
  reason: "DeletionByTaintManager",
  message: "Taint manager: deleting due to NoExecute taint",
};

/** Deletes pods from nodes whose taints they do not bear, or have borne for long enough. */
export const taintEvictionController: ControlLoop = (means) => {
  const loop = new Loop(means, "taint-eviction-controller");
  const nodes = loop.open(Node);
  const pods = loop.open(Pod, { node: byNode });
  /** Since when pods that are to go have borne which taints, by uid. */
  const marked = new Map<string, { readonly taints: string; readonly since: number }>();
  const isTainted = (name: string | undefined) => name !== undefined && executing(nodes.get({ name })).length > 0;
  return loop.hears(pods, { onDelete: ({ metadata }) => void marked.delete(metadata.uid ?? "") }).reconciles({
    sources: [
      watches(nodes, {
        when: updatesWhere((old, node) => !sameValue(executing(old), executing(node))),
        map: ({ metadata }) => podsOn(pods, metadata.name ?? ""),
      }),
      watches(pods, {
        when: ({ type, object }) => type !== "delete" && isTainted(object.spec?.nodeName),
      }),
    ],
    async reconcile(request, { signal }) {
      const pod = pods.get(request);
      if (pod === undefined || isBeingDeleted(pod) || isPodFinished(pod)) return { type: "done" };
      const { uid = "", namespace, name } = pod.metadata;
      const taints = executing(nodes.get({ name: pod.spec?.nodeName ?? "" }));
      const seconds = taints.length === 0 ? undefined : toleratedSeconds(taints, pod.spec?.tolerations);
      if (seconds === undefined) {
        if (marked.delete(uid)) {
          loop.event(pod, "Normal", "TaintManagerEviction", `Cancelling deletion of Pod ${namespace}/${name}`);
        }
        return { type: "done" };
      }
      const now = means.clock.now();
      const known = marked.get(uid);
      const text = JSON.stringify(taints);
      const since = known?.taints === text ? known.since : begin(pod, taints, now);
      const left = since + seconds * 1000 - now;
      if (seconds > 0 && left > 0) {
        marked.set(uid, { taints: text, since });
        return again(left);
      }
      loop.event(pod, "Normal", "TaintManagerEviction", `Marking for deletion Pod ${namespace}/${name}`);
      await markDisrupted(means.client, pod, disruption, now, signal);
      marked.delete(uid);
      await unlessGone(means.client.delete(Pod, requestFor(pod), { preconditions: { uid }, signal }));
      return { type: "done" };
    },
  });
};

/** When a pod began to bear the taints: when they came, or it did; people's own taints often do not say. */
function begin(pod: Pod, taints: readonly Taint[], now: number): number {
  const added = taints.map(({ timeAdded }) => timeOf(timeAdded) ?? now);
  return Math.max(...added, timeOf(pod.metadata.creationTimestamp) ?? now);
}

function executing(node: Node | undefined): Taint[] {
  return (node?.spec?.taints ?? []).filter(({ effect }) => effect === "NoExecute");
}

function podsOn(pods: Cache<Pod>, node: string): Request[] {
  return pods.byIndex("node", node).map(requestFor);
}
