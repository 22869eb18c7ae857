import { Node, requestFor, watches } from "@fjord/kube";
import type { ControlLoop } from "../control-loop.ts";
import { Loop } from "../loop.ts";

const TTL = "node.alpha.kubernetes.io/ttl";

/** The more nodes there are, the longer may each keep what it has read of Secrets and ConfigMaps; as in Kubernetes. */
const steps = [
  { least: 0, most: 100, seconds: 0 },
  { least: 90, most: 500, seconds: 15 },
  { least: 450, most: 1000, seconds: 30 },
  { least: 900, most: 2000, seconds: 60 },
  { least: 1800, most: Number.POSITIVE_INFINITY, seconds: 300 },
];

/** Tells the right time for a number of nodes, which changes by one and by many. Steps overlap, so that none is taken to and fro. */
export class NodeTtl {
  #step = 0;

  secondsFor(nodes: number): number {
    while (nodes > (steps[this.#step]?.most ?? 0)) this.#step++;
    while (nodes < (steps[this.#step]?.least ?? 0)) this.#step--;
    return steps[this.#step]?.seconds ?? 0;
  }
}

/** Marks each node with the time for which it may keep what it has read. */
export const nodeTtlController: ControlLoop = (means) => {
  const loop = new Loop(means, "ttl-controller");
  const nodes = loop.open(Node);
  const ttl = new NodeTtl();
  const wanted = () => String(ttl.secondsFor(nodes.size));
  const isMarked = (node: Node) => node.metadata.annotations?.[TTL] === wanted();
  return loop.reconciles({
    sources: [watches(nodes, { when: ({ type, object }) => type !== "delete" && !isMarked(object) })],
    async reconcile(request, { signal }) {
      const node = nodes.get(request);
      if (node === undefined || isMarked(node)) return { type: "done" };
      // Whatever else has changed: a new node is written to from all sides.
      const { uid } = node.metadata;
      const patch = { metadata: { uid, annotations: { [TTL]: wanted() } } };
      await means.client.patch(Node, requestFor(node), "merge", patch, { signal });
      return { type: "done" };
    },
  });
};
