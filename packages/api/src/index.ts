export type { ConditionFrom } from "./conditions.ts";
export { apiVersion, category, group, version } from "./group.ts";
export { GUEST_PRIVILEGES, type GuestPrivilege } from "./guest-privileges.ts";
export { isKeptNamespace } from "./kept-namespaces.ts";
export type {
  ConditionOf,
  DraftOf,
  FjordKind,
  ObjectOf,
  PrinterColumn,
  SpecDraftOf,
  SpecOf,
  StatusOf,
} from "./kind.ts";
export * from "./kinds/index.ts";
export * from "./labels.ts";
export { newObject } from "./new-object.ts";
export type { Quantity } from "./schema/index.ts";
export { isCounted, isWhole } from "./schema/index.ts";
