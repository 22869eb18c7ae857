import type { Kind } from "@fjord/base";
import type { IAPIService } from "kubernetes-models/apiregistration.k8s.io/v1/APIService";
import type { Typed } from "./typed.ts";

const group = { group: "apiregistration.k8s.io", version: "v1" } as const;

export type APIService = Typed<IAPIService>;
export const APIService: Kind<APIService> = { ...group, kind: "APIService", plural: "apiservices", namespaced: false };
