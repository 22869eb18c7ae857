import { matchesNodeTerm, selectsNode } from "@fjord/kube";
import { type FilterPlugin, refused, type ScorePlugin } from "../plugin.ts";

const refusal = refused("node(s) didn't match Pod's node affinity/selector", true);

export const nodeAffinity: FilterPlugin = {
  name: "NodeAffinity",
  narrow({ pod }) {
    const required = pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
    const names = required?.nodeSelectorTerms.map(({ matchFields = [] }) =>
      matchFields.find(({ key, operator }) => key === "metadata.name" && operator === "In"),
    );
    if (names === undefined || names.includes(undefined)) return undefined;
    return new Set(names.flatMap((name) => name?.values ?? []));
  },
  prepare({ pod }) {
    const { nodeSelector, affinity } = pod.spec ?? {};
    const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
    if (nodeSelector === undefined && required === undefined) return undefined;
    return (node) => (selectsNode(pod, node) ? undefined : refusal);
  },
};

export const nodeAffinityScore: ScorePlugin = {
  name: "NodeAffinity",
  weight: 2,
  scale: "highest",
  prepare({ pod }) {
    const preferred = pod.spec?.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
    if (preferred.length === 0) return undefined;
    return (node) =>
      preferred.reduce((sum, { weight, preference }) => sum + (matchesNodeTerm(preference, node) ? weight : 0), 0);
  },
};
