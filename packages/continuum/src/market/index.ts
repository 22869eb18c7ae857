export type { LiveContract, LiveContracts } from "../live-contracts.ts";
export {
  type Amounts,
  amountsOf,
  atMost,
  covers,
  describeAmounts,
  formatAmounts,
  minus,
  plus,
  sameAmounts,
} from "./amounts.ts";
export { ConsumerContracts, type ConsumerContractsOptions } from "./consumer-contracts.ts";
export { ContractBook, type ContractBookOptions } from "./contract-book.ts";
export { lineOf } from "./contract-id.ts";
export { endOf, hasEnded, isInForce, isSigned, phaseOf, sideOf, standingOf } from "./contract-life.ts";
export { ContractRoutes, type ContractRoutesOptions, type TenantMaker } from "./contract-routes.ts";
export { ContractStore } from "./contract-store.ts";
export { accepts, decide, promised, type Sharing } from "./decide.ts";
export * from "./errors.ts";
export { lifetimeOf } from "./lifetime.ts";
export { type Agreement, isRefusal, Negotiation, type Wish } from "./negotiation.ts";
export { ProviderContracts, type ProviderContractsOptions } from "./provider-contracts.ts";
export { readReport } from "./report-check.ts";
export { checkedResources } from "./request-check.ts";
