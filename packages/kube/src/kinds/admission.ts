import type { Kind } from "@fjord/base";
import type { IMutatingAdmissionPolicy } from "kubernetes-models/admissionregistration.k8s.io/v1/MutatingAdmissionPolicy";
import type { IMutatingAdmissionPolicyBinding } from "kubernetes-models/admissionregistration.k8s.io/v1/MutatingAdmissionPolicyBinding";
import type { IMutatingWebhookConfiguration } from "kubernetes-models/admissionregistration.k8s.io/v1/MutatingWebhookConfiguration";
import type { IValidatingAdmissionPolicy } from "kubernetes-models/admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy";
import type { IValidatingAdmissionPolicyBinding } from "kubernetes-models/admissionregistration.k8s.io/v1/ValidatingAdmissionPolicyBinding";
import type { IValidatingWebhookConfiguration } from "kubernetes-models/admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration";
import type { Typed } from "./typed.ts";

const group = { group: "admissionregistration.k8s.io", version: "v1" } as const;

export type ValidatingWebhookConfiguration = Typed<IValidatingWebhookConfiguration>;
export const ValidatingWebhookConfiguration: Kind<ValidatingWebhookConfiguration> = {
  ...group,
  kind: "ValidatingWebhookConfiguration",
  plural: "validatingwebhookconfigurations",
  namespaced: false,
};

export type MutatingWebhookConfiguration = Typed<IMutatingWebhookConfiguration>;
export const MutatingWebhookConfiguration: Kind<MutatingWebhookConfiguration> = {
  ...group,
  kind: "MutatingWebhookConfiguration",
  plural: "mutatingwebhookconfigurations",
  namespaced: false,
};

export type ValidatingAdmissionPolicy = Typed<IValidatingAdmissionPolicy>;
export const ValidatingAdmissionPolicy: Kind<ValidatingAdmissionPolicy> = {
  ...group,
  kind: "ValidatingAdmissionPolicy",
  plural: "validatingadmissionpolicies",
  namespaced: false,
};

export type ValidatingAdmissionPolicyBinding = Typed<IValidatingAdmissionPolicyBinding>;
export const ValidatingAdmissionPolicyBinding: Kind<ValidatingAdmissionPolicyBinding> = {
  ...group,
  kind: "ValidatingAdmissionPolicyBinding",
  plural: "validatingadmissionpolicybindings",
  namespaced: false,
};

export type MutatingAdmissionPolicy = Typed<IMutatingAdmissionPolicy>;
export const MutatingAdmissionPolicy: Kind<MutatingAdmissionPolicy> = {
  ...group,
  kind: "MutatingAdmissionPolicy",
  plural: "mutatingadmissionpolicies",
  namespaced: false,
};

export type MutatingAdmissionPolicyBinding = Typed<IMutatingAdmissionPolicyBinding>;
export const MutatingAdmissionPolicyBinding: Kind<MutatingAdmissionPolicyBinding> = {
  ...group,
  kind: "MutatingAdmissionPolicyBinding",
  plural: "mutatingadmissionpolicybindings",
  namespaced: false,
};
