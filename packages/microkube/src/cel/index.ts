export { budget, CostAccount, CostExceeded } from "./budget.ts";
export * from "./environment.ts";
export { TakesTooLong } from "./expression/expression.ts";
export { type CelProgram, compileCel } from "./program.ts";
export { expression } from "./texts.ts";
export * from "./values.ts";
