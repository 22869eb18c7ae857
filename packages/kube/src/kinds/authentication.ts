import type { Kind } from "@fjord/base";
import type { ISelfSubjectReview } from "kubernetes-models/authentication.k8s.io/v1/SelfSubjectReview";
import type { ITokenReview } from "kubernetes-models/authentication.k8s.io/v1/TokenReview";
import type { Typed } from "./typed.ts";

const group = { group: "authentication.k8s.io", version: "v1" } as const;

export type TokenReview = Typed<ITokenReview>;
export const TokenReview: Kind<TokenReview> = {
  ...group,
  kind: "TokenReview",
  plural: "tokenreviews",
  namespaced: false,
};

export type SelfSubjectReview = Typed<ISelfSubjectReview>;
export const SelfSubjectReview: Kind<SelfSubjectReview> = {
  ...group,
  kind: "SelfSubjectReview",
  plural: "selfsubjectreviews",
  namespaced: false,
};
