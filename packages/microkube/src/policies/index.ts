export { MutatingPolicies } from "./mutating-policies.ts";
export { plainLiterals } from "./object-literals.ts";
export { expressionProblem } from "./policy-expressions.ts";
export { ValidatingPolicies } from "./validating-policies.ts";
