import type { KubeObject } from "@fjord/base";
import type { AdmissionRequest } from "../admission/admission.ts";
import { type CelProgram, celValue, compileCel, newEnvironment } from "../cel/index.ts";
import type { Schema } from "../schema/schema.ts";
import { plainLiterals } from "./object-literals.ts";

export interface Variable {
  readonly name: string;
  readonly expression: string;
}

/** What expressions of policies are about. */
export interface PolicyInput {
  readonly request: AdmissionRequest;
  readonly params: KubeObject | undefined;
  readonly namespace: KubeObject | undefined;
}

export type Program = CelProgram;

/** Expressions are read once, however many requests they are asked about. */
const programs = new Map<string, Program>();
const MOST_PROGRAMS = 2_000;

/** Throws where it cannot be read. */
export function programOf(expression: string): Program {
  const known = programs.get(expression);
  if (known !== undefined) return known;
  const environment = newEnvironment();
  for (const name of ["object", "oldObject", "request", "params", "namespaceObject", "variables", "authorizer"]) {
    environment.registerVariable(name, "dyn");
  }
  const program = compileCel(environment, plainLiterals(expression));
  if (programs.size >= MOST_PROGRAMS) programs.delete(programs.keys().next().value ?? "");
  programs.set(expression, program);
  return program;
}

/** What is wrong with an expression by itself. */
export function expressionProblem(expression: string): string | undefined {
  try {
    programOf(expression);
    return undefined;
  } catch (error) {
    return (error as Error).message.split("\n")[0];
  }
}

/** The values that expressions see. Variables are worked out when they are asked for, and once. */
export function valuesFor(
  { request, params, namespace }: PolicyInput,
  variables: readonly Variable[],
): Record<string, unknown> {
  const { type, version, object, old, operation, caller, subresource, name, dryRun, options } = request;
  const schema: Schema = type.schema(version) ?? {};
  const kind = { group: type.group, version, kind: type.kind };
  const resource = { group: type.group, version, resource: type.plural };
  const values: Record<string, unknown> = {
    object: object === undefined ? null : celValue(object, schema),
    oldObject: old === undefined ? null : celValue(old, schema),
    params: params === undefined ? null : celValue(params),
    namespaceObject: namespace === undefined ? null : celValue(namespace),
    request: {
      kind,
      resource,
      requestKind: kind,
      requestResource: resource,
      subResource: subresource,
      requestSubResource: subresource,
      name: name || (object?.metadata.name ?? ""),
      namespace: request.namespace,
      operation,
      userInfo: {
        username: caller.user,
        uid: caller.uid ?? "",
        groups: [...caller.groups],
        extra: { ...caller.extra },
      },
      dryRun,
      options: celValue(options),
    },
  };
  const computed: Record<string, unknown> = {};
  for (const { name: variable, expression } of variables) {
    let known: { value: unknown } | undefined;
    Object.defineProperty(computed, variable, {
      enumerable: true,
      get: () => {
        known ??= { value: programOf(expression)(values) };
        return known.value;
      },
    });
  }
  values.variables = computed;
  return values;
}

/** A value of CEL as JSON has it. */
export function jsonOf(value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(jsonOf);
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, one]) => [String(key), jsonOf(one)]));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, jsonOf(one)]));
}
