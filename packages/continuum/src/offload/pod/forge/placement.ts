import type { Mutator } from "./forge-context.ts";
import { neighbourWishes } from "./neighbours.ts";

/**
 * Takes out what chose the virtual node, and what only the home cluster knows: the provider's scheduler chooses anew, with what the pod
 * asks for of its neighbours as a wish.
 * Readiness gates are taken out too, since whoever sets their conditions does so at home.
 */
export const forgetPlacement: Mutator = (template) => {
  const {
    nodeName: _nodeName,
    nodeSelector: _nodeSelector,
    affinity: _affinity,
    topologySpreadConstraints: _topologySpreadConstraints,
    schedulerName: _schedulerName,
    schedulingGates: _schedulingGates,
    tolerations: _tolerations,
    priority: _priority,
    priorityClassName: _priorityClassName,
    preemptionPolicy: _preemptionPolicy,
    overhead: _overhead,
    readinessGates: _readinessGates,
    ...spec
  } = template.spec;
  return { ...template, spec: { ...spec, ...neighbourWishes(template.spec) } };
};
