import { type FilterPlugin, refused } from "../plugin.ts";
import { isTolerated } from "./tolerations.ts";

const taint = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" } as const;

export const nodeUnschedulable: FilterPlugin = {
  name: "NodeUnschedulable",
  prepare({ pod }) {
    if (isTolerated(taint, pod.spec?.tolerations ?? [])) return undefined;
    const refusal = refused("node(s) were unschedulable", true);
    return ({ node }) => (node.spec?.unschedulable === true ? refusal : undefined);
  },
};
