import type { Kind } from "@fjord/base";
import type { ILease } from "kubernetes-models/coordination.k8s.io/v1/Lease";
import type { Typed } from "./typed.ts";

const group = { group: "coordination.k8s.io", version: "v1" } as const;

export type Lease = Typed<ILease>;
export const Lease: Kind<Lease> = { ...group, kind: "Lease", plural: "leases", namespaced: true };
