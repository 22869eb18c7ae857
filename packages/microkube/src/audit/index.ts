export { AuditLog } from "./audit-log.ts";
export type { AuditRecord } from "./audit-record.ts";
export { Auditor } from "./auditor.ts";
export type { AuditPolicy } from "./policy.ts";
export { readPolicy } from "./read-policy.ts";
