const SECRETS: readonly RegExp[] = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  /\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g,
  /(?<=\b(?:bearer|basic)\s)[\w.~+/=-]{8,}/gi,
  /(?<=\b(?:password|passwd|secret|token|api[-_]?key)["']?\s*[=:]\s*["']?)[^\s"',;&]{4,}/gi,
  /(?<=:\/\/[^\s/:@]*:)[^\s/@]+(?=@)/g,
];

/** A safety net for texts that many can read: takes out what looks like a credential. No licence to put one in. */
export function redact(text: string): string {
  return SECRETS.reduce((rest, secret) => rest.replace(secret, "[redacted]"), text);
}
