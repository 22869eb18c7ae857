/** What is wrong with a name, one text each, in Kubernetes' words; empty where nothing is. */
export type NameRule = (name: string) => string[];

const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const subdomain = `${label}(\\.${label})*`;
const label1035 = "[a-z]([-a-z0-9]*[a-z0-9])?";
const underscored = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
const subdomainWithUnderscore = `${underscored}(\\.${underscored})*`;
const wildcardSubdomain = `\\*\\.${subdomain}`;
const cIdentifier = "[A-Za-z_][A-Za-z0-9_]*";
const configKey = "[-._a-zA-Z0-9]+";
const headerName = "[-A-Za-z0-9]+";
const percent = "[0-9]+%";

const whole = (pattern: string) => new RegExp(`^${pattern}$`);
const labelPattern = whole(label);
const subdomainPattern = whole(subdomain);
const label1035Pattern = whole(label1035);
const underscoredPattern = whole(subdomainWithUnderscore);
const wildcardPattern = whole(wildcardSubdomain);
const cIdentifierPattern = whole(cIdentifier);
const configKeyPattern = whole(configKey);
const headerNamePattern = whole(headerName);
const percentPattern = whole(percent);

export const characters = (max: number) => `must be no more than ${max} characters`;
export const between = (low: number, high: number) => `must be between ${low} and ${high}, inclusive`;

/** `... (e.g. 'my-name', regex used for validation is '...')`. */
export function patternText(text: string, pattern: string, ...examples: string[]): string {
  if (examples.length === 0) return `${text} (regex used for validation is '${pattern}')`;
  const quoted = examples.map((example) => `'${example}', `).join(" or ");
  return `${text} (e.g. ${quoted}regex used for validation is '${pattern}')`;
}

/** Go counts bytes where it says characters. */
export const bytesOf = (text: string): number => Buffer.byteLength(text);

function limited(name: string, max: number, wrong: () => string | undefined): string[] {
  const texts = bytesOf(name) > max ? [characters(max)] : [];
  const text = wrong();
  if (text !== undefined) texts.push(text);
  return texts;
}

export const dnsLabel: NameRule = (name) =>
  limited(name, 63, () => {
    if (labelPattern.test(name)) return undefined;
    if (subdomainPattern.test(name)) return "must not contain dots";
    return patternText(
      "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
      label,
      "my-name",
      "123-abc",
    );
  });

export const dnsSubdomain: NameRule = (name) =>
  limited(name, 253, () =>
    subdomainPattern.test(name)
      ? undefined
      : patternText(
          "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
          subdomain,
          "example.com",
        ),
  );

export const dnsSubdomainWithUnderscore: NameRule = (name) =>
  limited(name, 253, () =>
    underscoredPattern.test(name)
      ? undefined
      : patternText(
          "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
          subdomainWithUnderscore,
          "example.com",
        ),
  );

export const dns1035Label: NameRule = (name) =>
  limited(name, 63, () =>
    label1035Pattern.test(name)
      ? undefined
      : patternText(
          "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
          label1035,
          "my-name",
          "abc-123",
        ),
  );

export const wildcardDnsSubdomain: NameRule = (name) =>
  limited(name, 253, () =>
    wildcardPattern.test(name)
      ? undefined
      : patternText(
          "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
          wildcardSubdomain,
          "*.example.com",
        ),
  );

export const cIdentifierName: NameRule = (name) =>
  cIdentifierPattern.test(name)
    ? []
    : [
        patternText(
          "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'",
          cIdentifier,
          "my_name",
          "MY_NAME",
          "MyName",
        ),
      ];

const configKeyText = patternText(
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
  configKey,
  "key.name",
  "KEY_NAME",
  "key-name",
);

/** Keys of ConfigMaps and Secrets. */
export const configMapKey: NameRule = (name) => [
  ...limited(name, 253, () => (configKeyPattern.test(name) ? undefined : configKeyText)),
  ...leavesDirectory(name),
];

function leavesDirectory(name: string): string[] {
  if (name === ".") return ["must not be '.'"];
  if (name === "..") return ["must not be '..'"];
  return name.startsWith("..") ? ["must not start with '..'"] : [];
}

export const environmentName: NameRule = (name) => {
  if (name === "") return ["environment variable name must be non-empty"];
  if (/^[ -<>-~]*$/.test(name)) return [];
  return ["a valid environment variable name must consist only of printable ASCII characters other than '='"];
};

export const headerFieldName: NameRule = (name) =>
  headerNamePattern.test(name)
    ? []
    : [patternText("a valid HTTP header must consist of alphanumeric characters or '-'", headerName, "X-Header-Name")];

export const percentText: NameRule = (value) =>
  percentPattern.test(value)
    ? []
    : [patternText("a valid percent string must be a numeric string followed by an ending '%'", percent, "1%", "93%")];

/** What may be one part of a path: all that RBAC asks of its names. */
export const pathSegment: NameRule = (name) => {
  if (name === "." || name === "..") return [`may not be '${name}'`];
  return ["/", "%"].filter((part) => name.includes(part)).map((part) => `may not contain '${part}'`);
};

/** Five letters will follow a `generateName`: its last dash is then no end. */
export function maskTrailingDash(prefix: string): string {
  return prefix.length > 1 && prefix.endsWith("-") ? `${prefix.slice(0, -2)}a` : prefix;
}
