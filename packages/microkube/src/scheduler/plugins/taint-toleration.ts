import { type FilterPlugin, refused, type ScorePlugin } from "../plugin.ts";
import { isTolerated } from "./tolerations.ts";

const refusal = refused("node(s) had untolerated taint(s)", true);

export const taintToleration: FilterPlugin = {
  name: "TaintToleration",
  prepare({ pod }) {
    const tolerations = pod.spec?.tolerations ?? [];
    return ({ node }) => {
      const taints = node.spec?.taints ?? [];
      const stands = taints.some((taint) => taint.effect !== "PreferNoSchedule" && !isTolerated(taint, tolerations));
      return stands ? refusal : undefined;
    };
  },
};

/** Fewer taints that ask to stay away, where the pod does not bear them, are better. */
export const taintTolerationScore: ScorePlugin = {
  name: "TaintToleration",
  weight: 3,
  scale: "lowest",
  prepare({ pod }) {
    const tolerations = (pod.spec?.tolerations ?? []).filter(
      ({ effect = "" }) => effect === "" || effect === "PreferNoSchedule",
    );
    return ({ node }) =>
      (node.spec?.taints ?? []).filter(
        (taint) => taint.effect === "PreferNoSchedule" && !isTolerated(taint, tolerations),
      ).length;
  },
};
