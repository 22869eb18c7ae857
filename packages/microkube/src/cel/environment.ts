import { Environment } from "@marcbachmann/cel-js";
import { registerAddresses } from "./addresses.ts";
import { registerLists } from "./lists.ts";
import { registerQuantities } from "./quantities.ts";
import { registerTexts } from "./texts.ts";

export type CelEnvironment = Environment;

/** CEL with Kubernetes' own functions. Variables are the caller's to add, to a clone. */
export function celEnvironment(): CelEnvironment {
  const environment = new Environment({
    unlistedVariablesAreDyn: false,
    enableOptionalTypes: true,
    homogeneousAggregateLiterals: false,
  });
  registerLists(environment);
  registerTexts(environment);
  registerQuantities(environment);
  registerAddresses(environment);
  return environment;
}

let shared: CelEnvironment | undefined;

/** A fresh environment over one that is made once: making all functions known takes milliseconds. */
export function newEnvironment(): CelEnvironment {
  shared ??= celEnvironment();
  return shared.clone();
}
