import type { Service } from "@fjord/kube";
import { count } from "../amount.ts";
import type { QuotaEvaluator } from "./quota-evaluator.ts";

const counted = ["count/services", "services", "services.nodeports", "services.loadbalancers"];

export const serviceEvaluator: QuotaEvaluator = {
  handles: ({ operation, subresource }) => subresource === "" && (operation === "CREATE" || operation === "UPDATE"),
  counts: (names) => names.filter((name) => counted.includes(name)),
  usage(object) {
    const { type, ports = [], allocateLoadBalancerNodePorts } = (object as Service).spec ?? {};
    const isBalanced = type === "LoadBalancer";
    const asked = ports.filter(({ nodePort }) => nodePort).length;
    const given = isBalanced && allocateLoadBalancerNodePorts === false ? asked : ports.length;
    return new Map([
      ["count/services", count(1)],
      ["services", count(1)],
      ["services.nodeports", count(isBalanced || type === "NodePort" ? given : 0)],
      ["services.loadbalancers", count(isBalanced ? 1 : 0)],
    ]);
  },
};
