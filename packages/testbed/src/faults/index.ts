export { faultPage } from "./fault-page.ts";
export { type FaultResult, HEADINGS, resultsText, rowOf, withResults } from "./fault-result.ts";
