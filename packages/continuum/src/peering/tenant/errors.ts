import { defineError } from "@fjord/base";

export const TenantNamespaceTaken = defineError(
  "TENANT_NAMESPACE_TAKEN",
  "cannot make a tenant: the namespace {namespace} exists and is not Fjord's",
  "Rename or remove that namespace: names that begin with fjord-tenant- belong to Fjord.",
);

export const TenantNamespaceLeaving = defineError(
  "TENANT_NAMESPACE_LEAVING",
  "cannot make a tenant yet: its namespace {namespace} of before is still being removed",
  "Wait: it is tried again. Where the namespace stays, look at its conditions for what keeps it.",
);
