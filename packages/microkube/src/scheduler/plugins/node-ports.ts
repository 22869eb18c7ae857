import { type FilterPlugin, refused } from "../plugin.ts";
import type { HostPort } from "../pod-facts.ts";

const refusal = refused("node(s) didn't have free ports for the requested pod ports", false);

export const nodePorts: FilterPlugin = {
  name: "NodePorts",
  prepare({ ports }) {
    if (ports.length === 0) return undefined;
    return (node) => {
      for (const other of node.pods) {
        if (other.ports.some((taken) => ports.some((wanted) => clash(wanted, taken)))) return refusal;
      }
      return undefined;
    };
  },
};

function clash(a: HostPort, b: HostPort): boolean {
  if (a.port !== b.port || a.protocol !== b.protocol) return false;
  return a.ip === b.ip || isAny(a.ip) || isAny(b.ip);
}

function isAny(ip: string): boolean {
  return ip === "0.0.0.0" || ip === "::";
}
