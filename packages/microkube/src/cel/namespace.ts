import type { Environment } from "@marcbachmann/cel-js";

type Handler = (...values: never[]) => unknown;

/** Functions with a name before a dot that is no value: `sets.contains([1], [1])`. Signatures are as those of functions. */
export function registerNamespace(
  environment: Environment,
  name: string,
  functions: Readonly<Record<string, Handler>>,
): void {
  class Namespace {}
  const type = `${name}.Namespace`;
  environment.registerType(type, { ctor: Namespace, fields: {} }).registerConstant(name, type, new Namespace());
  for (const [signature, handler] of Object.entries(functions)) {
    environment.registerFunction(`${type}.${signature}`, (_: unknown, ...values: unknown[]) =>
      handler(...(values as never[])),
    );
  }
}
