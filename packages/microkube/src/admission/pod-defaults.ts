import type { Node, Pod } from "@fjord/kube";
import { find } from "../cluster-objects.ts";
import type { AdmissionPlugin } from "./admission.ts";
import { isFor } from "./refusal.ts";

const NOT_READY = "node.kubernetes.io/not-ready";
const UNREACHABLE = "node.kubernetes.io/unreachable";
const SECONDS = 300;

/** Pods bear a node that is not ready or not reachable for five minutes, unless they say otherwise. */
export const defaultTolerationSeconds: AdmissionPlugin = {
  name: "DefaultTolerationSeconds",
  mutate(request) {
    if (!isFor(request, "pods") || (request.operation !== "CREATE" && request.operation !== "UPDATE")) return;
    const spec = (request.object as Pod).spec;
    if (spec === undefined) return;
    const given = spec.tolerations ?? [];
    const missing = [NOT_READY, UNREACHABLE].filter(
      (taint) =>
        !given.some(
          ({ key = "", effect = "" }) => (key === taint || key === "") && (effect === "NoExecute" || effect === ""),
        ),
    );
    const added = missing.map((key) => ({ key, operator: "Exists", effect: "NoExecute", tolerationSeconds: SECONDS }));
    if (added.length > 0) spec.tolerations = [...given, ...added] as typeof given;
  },
};

/** A new node gets no pods before it has said that it is ready. */
export const taintNodesByCondition: AdmissionPlugin = {
  name: "TaintNodesByCondition",
  mutate(request) {
    if (!isFor(request, "nodes") || request.operation !== "CREATE") return;
    const node = request.object as Node;
    const taints = node.spec?.taints ?? [];
    if (taints.some(({ key, effect }) => key === NOT_READY && effect === "NoSchedule")) return;
    node.spec = { ...node.spec, taints: [...taints, { key: NOT_READY, effect: "NoSchedule" }] };
  },
};

const topology = ["topology.kubernetes.io/region", "topology.kubernetes.io/zone"];

/** Pods carry the region and zone of the node that they are bound to. */
export const podTopologyLabels: AdmissionPlugin = {
  name: "PodTopologyLabels",
  mutate(request) {
    const { type, subresource, operation, object, cluster } = request;
    if (type.plural !== "pods" || type.group !== "" || operation !== "CREATE" || object === undefined) return;
    const target = (object as { target?: { kind?: string; name?: string } }).target;
    const bound = subresource === "binding" && (target?.kind ?? "Node") === "Node" ? target?.name : undefined;
    const name = subresource === "" ? (object as Pod).spec?.nodeName : bound;
    if (!name) return;
    const labels = find<Node>(cluster, "Node", "", name)?.metadata.labels ?? {};
    const copied = topology.filter((key) => labels[key] !== undefined).map((key) => [key, labels[key] as string]);
    if (copied.length === 0) return;
    object.metadata.labels = { ...object.metadata.labels, ...Object.fromEntries(copied) };
  },
};
