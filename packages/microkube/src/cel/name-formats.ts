import { type Environment, Optional } from "@marcbachmann/cel-js";
import { labelValue, qualifiedName } from "../kinds/values/label.ts";
import { dns1035Label, dnsLabel, dnsSubdomain, maskTrailingDash, type NameRule } from "../kinds/values/name.ts";
import { isOfFormat } from "../kinds/values/text-format.ts";
import { budget } from "./budget.ts";
import { registerNamespace } from "./namespace.ts";
import { parseUrl, urlProblem } from "./urls.ts";

class CelFormat {
  readonly rule: NameRule;
  constructor(rule: NameRule) {
    this.rule = rule;
  }
}

const TYPE = "kubernetes.NamedFormat";

const prefix =
  (rule: NameRule): NameRule =>
  (text) =>
    rule(maskTrailingDash(text));

const plain =
  (format: string, problem: string): NameRule =>
  (text) =>
    isOfFormat(text, format) ? [] : [problem];

const formats: Readonly<Record<string, CelFormat>> = Object.fromEntries(
  Object.entries<NameRule>({
    dns1123Label: dnsLabel,
    dns1123Subdomain: dnsSubdomain,
    dns1035Label,
    qualifiedName,
    dns1123LabelPrefix: prefix(dnsLabel),
    dns1123SubdomainPrefix: prefix(dnsSubdomain),
    dns1035LabelPrefix: prefix(dns1035Label),
    labelValue,
    uri: (text) => (parseUrl(text) === undefined ? [urlProblem(text)] : []),
    uuid: plain("uuid", "does not match the UUID format"),
    byte: plain("byte", "invalid base64"),
    date: plain("date", "invalid date"),
    datetime: plain("date-time", "invalid datetime"),
  }).map(([name, rule]) => [name, new CelFormat(rule)]),
);

/** What Kubernetes asks of names and other texts: `format.dns1123Label().validate(self.name)` gives what is wrong. */
export function registerNameFormats(environment: Environment): void {
  environment
    .registerType(TYPE, { ctor: CelFormat, fields: {} })
    .registerFunction(`${TYPE}.validate(string): optional<list<string>>`, ({ rule }: CelFormat, text: string) => {
      budget.spend(1 + text.length / 10);
      const problems = rule(text);
      return problems.length === 0 ? Optional.none() : Optional.of(problems);
    });
  const constants = Object.entries(formats).map(([name, format]) => [`${name}(): ${TYPE}`, () => format] as const);
  registerNamespace(environment, "format", {
    ...Object.fromEntries(constants),
    [`named(string): optional<${TYPE}>`]: (name: string) =>
      Object.hasOwn(formats, name) ? Optional.of(formats[name]) : Optional.none(),
  });
}
