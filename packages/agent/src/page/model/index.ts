/** What the browser needs of the page's model: types, and how changes are put into a snapshot. */
export { type Changes, changesBetween, withChanges } from "./changes.ts";
export * from "./snapshot.ts";
