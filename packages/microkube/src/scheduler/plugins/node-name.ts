import { type FilterPlugin, refused } from "../plugin.ts";

export const nodeName: FilterPlugin = {
  name: "NodeName",
  prepare({ pod }) {
    const wanted = pod.spec?.nodeName;
    if (wanted === undefined || wanted === "") return undefined;
    const refusal = refused("node(s) didn't match the requested node name", true);
    return (node) => (node.name === wanted ? undefined : refusal);
  },
};
