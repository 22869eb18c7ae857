import { Environment } from "@marcbachmann/cel-js";
import { registerAddresses } from "./addresses.ts";
import { registerComprehensions } from "./comprehensions.ts";
import { registerLists } from "./lists.ts";
import { registerNameFormats } from "./name-formats.ts";
import { registerQuantities } from "./quantities.ts";
import { registerSets } from "./sets.ts";
import { registerTexts } from "./texts.ts";
import { registerUrls } from "./urls.ts";
import { registerVersions } from "./versions.ts";

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
  registerComprehensions(environment);
  registerSets(environment);
  registerUrls(environment);
  registerVersions(environment);
  registerNameFormats(environment);
  return environment;
}

let shared: CelEnvironment | undefined;

/** A fresh environment over one that is made once: making all functions known takes milliseconds. */
export function newEnvironment(): CelEnvironment {
  shared ??= celEnvironment();
  return shared.clone();
}
