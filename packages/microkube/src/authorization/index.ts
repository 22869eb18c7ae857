export { accessReviews, type Review } from "./access-reviews.ts";
export type { Attributes, Authorizer, Decision } from "./authorizer.ts";
export { bootstrapObjects, ensureBootstrapObjects } from "./bootstrap-objects.ts";
export { ClusterAuthorizer, MASTERS } from "./cluster-authorizer.ts";
export { escalationCheck } from "./escalation.ts";
export { forbiddenRequest } from "./forbidden.ts";
export { nodeOf } from "./node-authorizer.ts";
export { followRoleAggregation } from "./role-aggregation.ts";
export { RoleIndex } from "./role-index.ts";
