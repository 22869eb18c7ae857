import type { Kind } from "@fjord/base";
import type { ILocalSubjectAccessReview } from "kubernetes-models/authorization.k8s.io/v1/LocalSubjectAccessReview";
import type { ISelfSubjectAccessReview } from "kubernetes-models/authorization.k8s.io/v1/SelfSubjectAccessReview";
import type { ISelfSubjectRulesReview } from "kubernetes-models/authorization.k8s.io/v1/SelfSubjectRulesReview";
import type { ISubjectAccessReview } from "kubernetes-models/authorization.k8s.io/v1/SubjectAccessReview";
import type { Typed } from "./typed.ts";

const group = { group: "authorization.k8s.io", version: "v1" } as const;

export type SubjectAccessReview = Typed<ISubjectAccessReview>;
export const SubjectAccessReview: Kind<SubjectAccessReview> = {
  ...group,
  kind: "SubjectAccessReview",
  plural: "subjectaccessreviews",
  namespaced: false,
};

export type LocalSubjectAccessReview = Typed<ILocalSubjectAccessReview>;
export const LocalSubjectAccessReview: Kind<LocalSubjectAccessReview> = {
  ...group,
  kind: "LocalSubjectAccessReview",
  plural: "localsubjectaccessreviews",
  namespaced: true,
};

export type SelfSubjectAccessReview = Typed<ISelfSubjectAccessReview>;
export const SelfSubjectAccessReview: Kind<SelfSubjectAccessReview> = {
  ...group,
  kind: "SelfSubjectAccessReview",
  plural: "selfsubjectaccessreviews",
  namespaced: false,
};

export type SelfSubjectRulesReview = Typed<ISelfSubjectRulesReview>;
export const SelfSubjectRulesReview: Kind<SelfSubjectRulesReview> = {
  ...group,
  kind: "SelfSubjectRulesReview",
  plural: "selfsubjectrulesreviews",
  namespaced: false,
};
