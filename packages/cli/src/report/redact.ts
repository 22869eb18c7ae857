/** What stands in the place of a secret. */
export const REDACTED = "[removed]";

const PATTERNS: readonly RegExp[] = [
  /-----BEGIN [A-Z ]*(?:PRIVATE KEY|CERTIFICATE)[A-Z ]*-----[\s\S]*?(?:-----END [A-Z ]*-----|$)/g,
  // JSON Web Tokens, such as those of service accounts, and Fjord's own pairing tokens.
  /\beyJ[\w-]{10,}\.[\w-]{5,}(?:\.[\w-]*)?/g,
  /\bfjord[a-z0-9]*[._-][\w.-]{30,}/gi,
  /\b(?:bearer|basic)\s+[\w.~+/=-]{6,}/gi,
  // What is assigned to something that is called after a secret.
  /(?<=(?:password|passwd|secret|token|api[_-]?key|private[_-]?key|credential|authorization)["']?\s*[:=]\s*["']?)[^\s"',;}\\]{3,}/gi,
  // Credentials in URLs.
  /(?<=\/\/)[^\s/:@"']+:[^\s/@"']+(?=@)/g,
  // Bootstrap tokens of Kubernetes.
  /\b[a-z0-9]{6}\.[a-z0-9]{16}\b/g,
];

/** Takes out of a text what looks like a secret. */
export function redactText(text: string): string {
  return PATTERNS.reduce((left, pattern) => left.replace(pattern, REDACTED), text);
}

/** Fields whose values are the owner's own, and of no use to whoever looks for a fault. */
const PRIVATE_FIELDS = new Set([
  "data",
  "stringData",
  "binaryData",
  "token",
  "password",
  "caBundle",
  "signature",
  "signatures",
]);
const PRIVATE_ANNOTATIONS = ["kubectl.kubernetes.io/last-applied-configuration"];

/**
 * An object without what may be secret: values of variables, arguments of commands, contents of config maps and secrets, tokens.
 * Names, amounts, times and conditions stay.
 */
export function redactObject(value: unknown, field = ""): unknown {
  if (typeof value === "string") return redactText(value);
  if (Array.isArray(value)) {
    if (field === "command" || field === "args") return value.length === 0 ? value : [REDACTED];
    return value.map((each) => (field === "env" ? redactVariable(each) : redactObject(each, field)));
  }
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, each]) => {
    if (each !== undefined && PRIVATE_FIELDS.has(name)) return [name, REDACTED];
    if (name === "managedFields") return [name, undefined];
    if (field === "annotations" && PRIVATE_ANNOTATIONS.includes(name)) return [name, REDACTED];
    if (isSecretName(name) && typeof each === "string") return [name, REDACTED];
    return [name, redactObject(each, name)];
  });
  return Object.fromEntries(entries.filter(([, each]) => each !== undefined));
}

function redactVariable(variable: unknown): unknown {
  if (typeof variable !== "object" || variable === null) return variable;
  const { value, ...others } = variable as Record<string, unknown>;
  return { ...others, ...(value !== undefined && { value: REDACTED }) };
}

function isSecretName(name: string): boolean {
  return (
    /passw|secret(?!Name$|s$)|credential|apikey|api_key|privateKey/i.test(name) &&
    !/^(imagePull|pairing)?secret(Name|Ref|s)?$/i.test(name)
  );
}
