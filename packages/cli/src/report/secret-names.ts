/** Parts of names which say by themselves that a secret is meant, wherever they stand: `dbpassword`, `accessTokens`. */
const TELLING = /passw|passphrase|passcode|secret|token|credential|apikey|privatekey|accesskey|authorization|cookie/i;
/** Words that say so only as words of their own: `DB_PASS`, but not `bypassed`. */
const TELLING_WORDS = new Set(["pass", "pwd", "pw", "auth", "bearer", "jwt", "otp", "pin", "psk", "pat", "sas"]);
/** What may be called `...Key` and is none that opens anything. */
const HARMLESS_KEYS = new Set([
  "public",
  "topology",
  "partition",
  "sort",
  "primary",
  "foreign",
  "map",
  "label",
  "host",
]);

/** Whether what has such a name is likely to be a secret: `DB_PASS`, `secret_key`, `client-key-data`, `x.io/token`, `apiKey`. */
export function isSecretName(name: string): boolean {
  if (TELLING.test(name)) return true;
  const words = wordsOf(name);
  if (words.some((word) => TELLING_WORDS.has(word))) return true;
  return words.some((word, at) => {
    const before = words[at - 1];
    if (!/^keys?$/.test(word) || before === undefined || HARMLESS_KEYS.has(before)) return false;
    const after = words[at + 1];
    return after === undefined || after === "data" || after === "base64" || /^\d+$/.test(after);
  });
}

function wordsOf(name: string): string[] {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== "")
    .map((word) => word.toLowerCase());
}
