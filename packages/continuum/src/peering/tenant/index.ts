export * from "./errors.ts";
export { TenantController, type TenantControllerOptions } from "./tenant-controller.ts";
export { TENANT_CLUSTER_ROLE, TENANT_LABEL, tenantOf } from "./tenant-forge.ts";
