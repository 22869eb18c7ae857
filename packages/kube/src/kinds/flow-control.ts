import type { Kind } from "@fjord/base";
import type { IFlowSchema } from "kubernetes-models/flowcontrol.apiserver.k8s.io/v1/FlowSchema";
import type { IPriorityLevelConfiguration } from "kubernetes-models/flowcontrol.apiserver.k8s.io/v1/PriorityLevelConfiguration";
import type { Typed } from "./typed.ts";

const group = { group: "flowcontrol.apiserver.k8s.io", version: "v1" } as const;

export type FlowSchema = Typed<IFlowSchema>;
export const FlowSchema: Kind<FlowSchema> = { ...group, kind: "FlowSchema", plural: "flowschemas", namespaced: false };

export type PriorityLevelConfiguration = Typed<IPriorityLevelConfiguration>;
export const PriorityLevelConfiguration: Kind<PriorityLevelConfiguration> = {
  ...group,
  kind: "PriorityLevelConfiguration",
  plural: "prioritylevelconfigurations",
  namespaced: false,
};
