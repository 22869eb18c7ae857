export type { Change } from "./change.ts";
export type { Deleted, DeleteOptions } from "./deletion.ts";
export { type ListPage, type ListQuery, parseRevision, tooLarge } from "./listing.ts";
export { objectText } from "./object-text.ts";
export { contextOf, keyFor, type Operation, prefixFor, timestamp, type Written } from "./operation.ts";
export { Registry, type RegistryOptions } from "./registry.ts";
export { everything, placeInKey, type Selection, type Selectors, selectionOf } from "./selection.ts";
export { ServedTypes } from "./served-types.ts";
export { fromStored, isPlain } from "./versions.ts";
