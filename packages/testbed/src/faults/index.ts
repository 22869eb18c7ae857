export { faultPage } from "./fault-page.ts";
export { type FaultResult, HEADINGS, rowOf, withResults } from "./fault-result.ts";
