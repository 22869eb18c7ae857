import type { FieldError } from "../../field-error.ts";
import { invalidField, notSupported, required } from "../../field-error.ts";

export interface OperationRule {
  operations?: string[];
  apiGroups?: string[];
  apiVersions?: string[];
  resources?: string[];
  scope?: string;
}

const operations = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const scopes = ["*", "Cluster", "Namespaced"];

/** Which requests a webhook or a policy is for. */
export function validateOperationRule(rule: OperationRule, path: string): FieldError[] {
  const { operations: asked = [], scope } = rule;
  const errors: FieldError[] = asked.length === 0 ? [required(`${path}.operations`)] : [];
  const alone = "if '*' is present, must not specify other";
  if (asked.length > 1 && asked.includes("*")) {
    errors.push(invalidField(`${path}.operations`, asked, `${alone} operations`));
  }
  for (const [i, operation] of asked.entries()) {
    if (!operations.includes(operation)) errors.push(notSupported(`${path}.operations[${i}]`, operation, operations));
  }
  for (const [field, what] of [
    ["apiGroups", "API groups"],
    ["apiVersions", "API versions"],
  ] as const) {
    const list = rule[field] ?? [];
    if (list.length === 0) errors.push(required(`${path}.${field}`));
    if (list.length > 1 && list.includes("*")) errors.push(invalidField(`${path}.${field}`, list, `${alone} ${what}`));
    if (field === "apiVersions") {
      for (const [i, one] of list.entries()) if (one === "") errors.push(required(`${path}.${field}[${i}]`));
    }
  }
  errors.push(...validateResources(rule.resources ?? [], `${path}.resources`));
  if (scope === undefined || scopes.includes(scope)) return errors;
  return [...errors, notSupported(`${path}.scope`, scope, scopes)];
}

function validateResources(resources: readonly string[], path: string): FieldError[] {
  if (resources.length === 0) return [required(path)];
  const errors: FieldError[] = resources.flatMap((one, i) => (one === "" ? [required(`${path}[${i}]`)] : []));
  if (resources.includes("*/*") && resources.length > 1) {
    errors.push(invalidField(path, resources, "if '*/*' is present, must not specify other resources"));
  }
  const isPlain = (one: string) => !one.includes("/");
  if (resources.includes("*") && resources.filter(isPlain).length > 1) {
    const why = "if '*' is present, must not specify other resources without subresources";
    errors.push(invalidField(path, resources, why));
  }
  return errors;
}
