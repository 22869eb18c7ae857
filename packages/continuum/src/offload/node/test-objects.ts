import {
  type Contract,
  Contract as ContractKind,
  newObject,
  type VirtualNode,
  VirtualNode as VirtualNodeKind,
} from "@fjord/api";
import type { Node, Pod } from "@fjord/kube";

export const PROVIDER = "nbswy3dpeb3w64tmmq5dembrge";
export const CONSUMER = "mzxw6ytboi2dcmrtgq2tmnzyhe";

export function contractOf(status: object = {}, resources: object = { cpu: 4, memory: "8Gi" }): Contract {
  const contract = newObject(ContractKind, {
    metadata: { name: "c-1" },
    spec: {
      standing: "Open",
      terms: {
        id: "c-1",
        consumer: CONSUMER,
        provider: PROVIDER,
        resources: resources as Contract["spec"]["terms"]["resources"],
        notBefore: "2030-01-01T00:00:00Z",
        notAfter: "2030-01-02T00:00:00Z",
        enforcement: "None",
      },
    },
  });
  return { ...contract, status: { phase: "Active", ...status } as NonNullable<Contract["status"]> };
}

export function virtualNodeOf(spec: object = {}): VirtualNode {
  return newObject(VirtualNodeKind, {
    metadata: { name: "lively-wave" },
    spec: { contract: "c-1", unreachableAfter: "2s", ...spec } as VirtualNode["spec"],
  });
}

export function nodeOf(metadata: object = {}, spec: object = {}): Node {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "lively-wave", resourceVersion: "7", ...metadata },
    spec,
  };
}

export function podOf(name: string, requests: Record<string, string> = {}, status: object = {}): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "shop", uid: name },
    spec: { nodeName: "lively-wave", containers: [{ name: "main", image: "web", resources: { requests } }] },
    status,
  };
}
