import { readFile } from "node:fs/promises";
import { describeError } from "@fjord/base";
import { AuditPolicyUnusable } from "../errors.ts";
import { type AuditPolicy, LEVELS, STAGES } from "./policy.ts";

/** Reads a policy as kube-apiserver takes it, in YAML or JSON. Throws where it says nothing that can be followed. */
export async function readPolicy(path: string): Promise<AuditPolicy> {
  const unusable = (problem: string, cause?: unknown) => new AuditPolicyUnusable({ path, problem }, { cause });
  let value: unknown;
  try {
    const text = await readFile(path, "utf8");
    const { parse } = await import("yaml");
    value = parse(text);
  } catch (error) {
    throw unusable(describeError(error), error);
  }
  const [problem] = problemsOf(value);
  if (problem !== undefined) throw unusable(problem);
  return value as AuditPolicy;
}

const texts = ["users", "userGroups", "verbs", "namespaces", "nonResourceURLs"];
const ruleFields = [...texts, "level", "resources", "omitStages", "omitManagedFields"];
const policyFields = ["apiVersion", "kind", "metadata", "rules", "omitStages", "omitManagedFields"];

/** What is wrong with a policy. */
export function problemsOf(value: unknown): string[] {
  if (!isRecord(value)) return ["it is no object"];
  if (value.apiVersion !== "audit.k8s.io/v1" || value.kind !== "Policy") {
    return ["it is no Policy of audit.k8s.io/v1"];
  }
  const { rules } = value;
  if (!Array.isArray(rules) || rules.length === 0) return ["it has no rules"];
  return [
    ...unknownFields("", value, policyFields),
    ...stageProblems("omitStages", value.omitStages),
    ...flagProblems("omitManagedFields", value.omitManagedFields),
    ...rules.flatMap((rule, index) => ruleProblems(`rules[${index}]`, rule)),
  ];
}

function ruleProblems(at: string, rule: unknown): string[] {
  if (!isRecord(rule)) return [`${at} is no object`];
  const { level, resources, nonResourceURLs, namespaces } = rule;
  const problems = unknownFields(`${at}.`, rule, ruleFields);
  if (!LEVELS.some((one) => one === level)) problems.push(`${at}.level has to be one of ${LEVELS.join(", ")}`);
  for (const field of texts) problems.push(...textProblems(`${at}.${field}`, rule[field]));
  problems.push(...stageProblems(`${at}.omitStages`, rule.omitStages));
  problems.push(...flagProblems(`${at}.omitManagedFields`, rule.omitManagedFields));
  if (problems.length > 0) return problems;
  if (isFilled(nonResourceURLs) && (isFilled(resources) || isFilled(namespaces))) {
    problems.push(`${at} is about resources and nonResourceURLs: a rule is about one of them`);
  }
  for (const url of (nonResourceURLs ?? []) as string[]) {
    if (url !== "*" && !/^\/[^*]*\*?$/.test(url)) {
      problems.push(`${at}.nonResourceURLs: ${url} does not begin with / or has a * before its end`);
    }
  }
  return [...problems, ...resourceProblems(`${at}.resources`, resources)];
}

function resourceProblems(at: string, resources: unknown): string[] {
  if (resources === undefined) return [];
  if (!Array.isArray(resources)) return [`${at} is no list`];
  return resources.flatMap((one, index) => {
    const place = `${at}[${index}]`;
    if (!isRecord(one)) return [`${place} is no object`];
    const { group = "", resources: names, resourceNames } = one;
    const problems = [
      ...unknownFields(`${place}.`, one, ["group", "resources", "resourceNames"]),
      ...textProblems(`${place}.resources`, names),
      ...textProblems(`${place}.resourceNames`, resourceNames),
    ];
    if (typeof group !== "string") problems.push(`${place}.group is no text`);
    else if (group.includes("/")) problems.push(`${place}.group is a group without a version`);
    if (isFilled(resourceNames) && !isFilled(names)) problems.push(`${place} has resourceNames without resources`);
    return problems;
  });
}

function unknownFields(at: string, value: Record<string, unknown>, known: readonly string[]): string[] {
  const unknown = Object.keys(value).filter((field) => !known.includes(field));
  return unknown.map((field) => `${at}${field} is unknown`);
}

function textProblems(at: string, value: unknown): string[] {
  const isFine = value === undefined || (Array.isArray(value) && value.every((one) => typeof one === "string"));
  return isFine ? [] : [`${at} is no list of texts`];
}

function stageProblems(at: string, value: unknown): string[] {
  const isFine = value === undefined || (Array.isArray(value) && value.every((one) => STAGES.includes(one)));
  return isFine ? [] : [`${at} has to be a list of ${STAGES.join(", ")}`];
}

function flagProblems(at: string, value: unknown): string[] {
  return value === undefined || typeof value === "boolean" ? [] : [`${at} has to be true or false`];
}

const isFilled = (value: unknown) => Array.isArray(value) && value.length > 0;

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
