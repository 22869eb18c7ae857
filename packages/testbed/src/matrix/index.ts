export type { Cell } from "./matrix-cell.ts";
export { matrixPage } from "./matrix-page.ts";
