import { nestedSecrets } from "./nested-secrets.ts";
import { isSecretName } from "./secret-names.ts";

/** What stands in the place of a secret. */
export const REDACTED = "[removed]";

/** What colours and moves text on terminals, and may stand within names. */
const STEERING = new RegExp(
  [
    "(?:\\u001b\\[|\\u009b)[0-?]{0,40}[ -/]{0,9}[@-~]",
    "\\u001b\\][^\\u0007\\u001b\\n]{0,2000}(?:\\u0007|\\u001b\\\\)",
    "\\u001b[@-Z\\\\^_a-z]",
  ].join("|"),
  "g",
);

/** What may go over lines. */
const BLOCKS: readonly RegExp[] = [
  /-----BEGIN [A-Z0-9 ]*(?:PRIVATE KEY|CERTIFICATE)[A-Z ]*-----[\s\S]*?(?:-----END [A-Z0-9 ]*-----|$)/g,
  /PuTTY-User-Key-File-\d[\s\S]*?(?:Private-MAC:[^\n]*|$)/g,
  // Values of Secrets and ConfigMaps, printed as a whole, however often quoted.
  /(?<=["'](?:data|stringData|binaryData)\\{0,9}["']\s{0,9}:\s{0,9})\{[^{}]*\}?/g,
];

/** What is a secret by its own looks, whatever it is called. Each has to be done in one pass, whatever the text: others make it. */
const LOOKS: readonly RegExp[] = [
  // JSON Web Tokens, such as those of service accounts, and Fjord's own pairing tokens.
  /\beyJ[\w-]{10,}(?:\.[\w-]{5,})?(?:\.[\w-]*)?/g,
  /\bfjord\d{1,3}\.[\w.-]{20,}/gi,
  // Tokens of well-known services, which begin as those say.
  /\b(?:gh[a-z]_|github_pat_|glpat-|gl[a-z]{2,5}-|xox[a-z]-|xapp-|sk-|[a-z]k_(?:live|test)_|npm_|pypi-|hf_|dckr_(?:pat|oat)_|shp[a-z]{2}_|hv[bsr]\.|ya29\.|SG\.|AGE-SECRET-KEY-|dop_v1_|tskey-|whsec_)[\w.-]{8,}/g,
  /\b(?:AKIA|ASIA|AIza)[\w-]{12,}/g,
  /\b(?:bearer|basic|digest|negotiate)\s+(?=[\w.~+/=-]*[\d+/=._~A-Z])[\w.~+/=-]{6,}/gi,
  // Credentials in URLs, of which the password may hold a slash, and in what Go calls a data source.
  /(?<=:\/\/)[^\s/:@"'<>]*:(?!\d{1,5}(?:[/?#\s]|$))(?:(?!:\/\/)[^\s"'<>])*(?=@)/g,
  /(?<=:\/\/)[^\s/:@"'<>?#]+(?=@)/g,
  /(?<![\w.-])[\w.-]{1,100}:[^\s@]{1,200}(?=@(?:tcp|udp|unix|cloudsql)?\()/g,
  // Addresses that are secrets themselves.
  /(?<=\bhooks\.slack(?:-gov)?\.com\/|\bdiscord(?:app)?\.com\/api\/|\bwebhook\.office\.com\/|\bapi\.telegram\.org\/)[^\s"'<>]+/gi,
  // Signatures of Azure, and keys in hexadecimal.
  /(?<=\bsig=)[\w%+/=-]{16,}/gi,
  /(?<=(?:key|secret|seed|psk)["']?[ \t]{1,9}["']?)[0-9a-f]{24,}\b/gi,
  // As `curl` and others take them.
  /(?<=(?:^|[\s"'])(?:-u|--user|--proxy-user)[\s=]{1,9}["']?)[^\s"':]+:[^\s"']+/gm,
  // A password right behind its option, as some take it.
  /(?<=\b(?:sshpass|mysql|mysqldump|mysqladmin|mariadb)\b[^|;&]{0,200}?[\s"',]-p)["']?(?!ort\b|assword\b|rotocol\b)[^\s"',\]]+/g,
  /(?<=\bsshpass\b[^|;&]{0,20}?[\s"',]-p["']?[\s,]{1,9}["']?)[^\s"',\]]+/g,
  /(?<=\bredis-cli\b[^|;&]{0,200}?[\s"',]-a["']?[\s,]{1,9}["']?)[^\s"',\]]+/g,
  // Bootstrap tokens of Kubernetes.
  /\b[a-z0-9]{6}\.[a-z0-9]{16}\b/g,
];

/** Parameters of Kubernetes' own requests, which say nothing that is secret. All others of a URL are removed. */
const KUBERNETES_PARAMETERS = new Set(
  "allowWatchBookmarks container dryRun fieldManager fieldSelector fieldValidation follow force gracePeriodSeconds labelSelector limit orphanDependents pretty previous propagationPolicy resourceVersion resourceVersionMatch sendInitialEvents sinceSeconds stderr stdin stdout tailLines timeout timeoutSeconds timestamps tty watch".split(
    " ",
  ),
);

/**
 * Takes out of a text what looks like a secret: by its looks, by the name of what it is assigned to, or by being as jumbled as only
 * keys are. Rather too much than too little; that a text of somebody's making holds no other secret cannot be promised.
 */
export function redactText(text: string): string {
  return [...redactPieces(text)].join("\n");
}

/** As many lines as are looked through in a moment. */
const LINES_OF_PIECE = 20;

/** The same in pieces, which are to be joined by ends of lines. */
export function* redactPieces(text: string): Generator<string> {
  const plain = text.replace(STEERING, "");
  const lines = removeElements(BLOCKS.reduce((left, pattern) => left.replace(pattern, REDACTED), plain)).split("\n");
  const isNested = nestedSecrets();
  for (let at = 0; at < lines.length; at += LINES_OF_PIECE)
    yield lines
      .slice(at, at + LINES_OF_PIECE)
      .map((line) => (isNested(line) ? REDACTED : redactLine(line)))
      .join("\n");
}

/** Longer ones were not written for people, and would take long to look through. */
const LONGEST_LINE = 8_000;

function redactLine(line: string): string {
  const start = removeCredentials(line.slice(0, LONGEST_LINE));
  const left = LOOKS.reduce((rest, pattern) => rest.replace(pattern, REDACTED), start);
  const safe = removeJumbled(removeAfterWords(removeAssigned(removeVariables(removeParameters(left)))));
  return line.length <= LONGEST_LINE ? safe : `${safe}[removed: ${line.length - LONGEST_LINE} characters]`;
}

/** `anna:x@db:5432`, `anna:x@registry.example/shop`: credentials without a scheme, which looks for its own. */
function removeCredentials(text: string): string {
  if (!text.includes("@")) return text;
  return text.replace(
    /(?<![\w.-])([\w.-]{1,100}:)(?!\/)([^\s@"'<>]{1,200})(?=@(?!sha\d{3}:)(?:[\w.-]{1,253}(:\d)?|\[))/g,
    (whole, user: string, password: string, port: string | undefined) =>
      // With a slash it may be an address and a path.
      password.includes("/") && port === undefined ? whole : `${user}${REDACTED}`,
  );
}

function removeParameters(text: string): string {
  return text.replace(/([?&])([\w.%[\]-]{1,100})=([^\s&"'#\\]+)/g, (whole, mark: string, name: string) =>
    KUBERNETES_PARAMETERS.has(name) ? whole : `${mark}${name}=${REDACTED}`,
  );
}

/** Elements of XML: `<password>x</password>`. */
function removeElements(text: string): string {
  return text.replace(
    /<([A-Za-z_][\w.:-]{0,100})((?:\s[^<>]{0,500})?)>(?:<!\[CDATA\[)?[^<]{1,4000}(?=<\/\1\s*>)/g,
    (whole, name: string, attributes: string) => (isSecretName(name) ? `<${name}${attributes}>${REDACTED}` : whole),
  );
}

/** Variables as they are printed with their name and value apart: `{"name":"DB_PASS","value":"x"}`, `{Name:DB_PASS,Value:x}`. */
function removeVariables(text: string): string {
  return text
    .replace(
      /(\b(?:name|key|field)\\*["']?\s?:\s?\\*["']?)([\w.-]{1,100})(\\*["']?\s?,\s?\\*["']?val(?:ue)?\\*["']?\s?:\s?)/gi,
      (whole, before: string, name: string, between: string) =>
        // What follows is then something that is assigned to a value by that name.
        isSecretName(name) ? `${before}${name}${between.replace(/val(?:ue)?/i, "secret-value")}` : whole,
    )
    .replace(
      /("val(?:ue)?"\s?:\s?)"[^"]{1,1000}"(\s?,\s?"(?:name|key|field)"\s?:\s?")([\w.-]{1,100})(?=")/gi,
      (whole, before: string, between: string, name: string) =>
        isSecretName(name) ? `${before}${REDACTED}${between}${name}` : whole,
    );
}

/** A name and what comes between it and its value: `name=`, `"name": `, `\"name\":`, `--name `, `"--name", `. */
const ASSIGNMENT =
  /(?<![\w$])(--?)?([A-Za-z_$][\w.$/-]{0,120})(?:\\*["'])?(?:[ \t]{0,9}(?:=>|->|→|:=|==|[:=])[ \t]{0,9}|([ \t]{0,9},[ \t]{0,9}|[ \t]{1,9}))/g;
/** Headers whose values have blanks in them. */
const WHOLE_LINE = /(?:^|-)(?:authorization|cookie)$/i;
/** What nobody keeps secret. */
const NOTHING = /^(?:true|false|null|nil|undefined|none|""|''|\[\]|\{\}|<nil>)?(?=$|[\s,;}\])])/i;
/** `secret: shop/db-credentials`: which of them is meant, and not what is in it. */
const NAMED_SECRET = /^-{0,2}secrets?$/i;
const NAME_OF_SECRET = /^[a-z][a-z0-9-]{0,62}\/[a-z][a-z0-9.-]{0,252}[,;:]?$/;
const VALUES: readonly RegExp[] = [
  /(?<quote>\\*["'`]).*?(?<!\\)\k<quote>/y,
  // A quotation that was cut off, or goes on below.
  /\\*["'`].*/y,
  /\[[^\]\n]*\]?/y,
  /\{[^}\n]*\}?/y,
  /[^\s]+/y,
];

/** Takes out what is assigned to something that is called after a secret. */
function removeAssigned(text: string): string {
  const kept: string[] = [];
  let from = 0;
  ASSIGNMENT.lastIndex = 0;
  for (let found = ASSIGNMENT.exec(text); found !== null; found = ASSIGNMENT.exec(text)) {
    const [whole, dashes, name = "", loose] = found;
    const start = found.index + whole.length;
    if ((loose !== undefined && dashes === undefined) || !isSecretName(name) || text.startsWith(REDACTED, start)) {
      // The value may be a name itself: `env: DB_PASS=x`.
      ASSIGNMENT.lastIndex = found.index + (dashes?.length ?? 0) + name.length;
      continue;
    }
    const end = WHOLE_LINE.test(name) ? endOfHeader(text, found.index, start) : endOfValue(text, start);
    const value = text.slice(start, end);
    if (!NOTHING.test(value) && !(NAMED_SECRET.test(name) && NAME_OF_SECRET.test(value))) {
      kept.push(text.slice(from, start), REDACTED);
      from = end;
    }
    ASSIGNMENT.lastIndex = Math.max(end, start);
  }
  return kept.length === 0 ? text : [...kept, text.slice(from)].join("");
}

function endOfValue(text: string, start: number): number {
  for (const value of VALUES) {
    value.lastIndex = start;
    if (value.test(text)) return value.lastIndex;
  }
  return start;
}

/** A header ends with its line, or with the quotation that it stands in: `-H 'Cookie: a=b' https://...`. */
function endOfHeader(text: string, at: number, start: number): number {
  if (/^(?:\\*["'`]|\[)/.test(text.slice(start, start + 9))) return endOfValue(text, start);
  const quote = text[at - 1];
  const closing = quote === '"' || quote === "'" ? text.indexOf(quote, start) : -1;
  return closing === -1 ? text.length : closing;
}

/** `password hunter2`, `token is a1b2c3`: what follows such a word and is no word itself, is quoted, or is said to be it. */
function removeAfterWords(text: string): string {
  return text
    .replace(
      /\b((?:password|passwd|passphrase|passcode|pwd|secret|token|api[ -]?key)[ \t]{1,9}(?:is|was)[ \t]{0,9}[:=][ \t]{0,9})(?!\[removed)(?:"[^"]*"?|'[^']*'?|`[^`]*`?|[^\s"'`]+)/gi,
      `$1${REDACTED}`,
    )
    .replace(
      /\b((?:password|passwd|passphrase|passcode)(?:[ \t]{1,9}(?:is|was|of))?[ \t]{1,9})(?:"[^"]+"|'[^']+'|`[^`]+`)/gi,
      `$1${REDACTED}`,
    )
    .replace(
      /\b((?:password|passwd|passphrase|passcode|token|api[ -]?key)(?:[ \t]{1,9}(?:is|was|of))?[ \t]{1,9}["'`]?)(?=[^\s"'`]*\d)(?=[^\s"'`]*[A-Za-z])[^\s"'`]{6,}/gi,
      `$1${REDACTED}`,
    )
    .replace(
      // Secrets of Kubernetes have names with dashes and slashes.
      /\b(secret(?:[ \t]{1,9}(?:is|was))?[ \t]{1,9})(?=[^\s"'`]*\d)(?=[^\s"'`]*[A-Za-z])(?![a-z0-9.]+[-/])[^\s"'`]{6,}/gi,
      `$1${REDACTED}`,
    );
}

/** Long runs of letters of both cases and digits, and of base64: no name that people or Kubernetes give looks so. */
function removeJumbled(text: string): string {
  return text
    .replace(/(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{32,}={1,2}(?![\w=])/g, REDACTED)
    .replace(/[A-Za-z0-9_+-]{24,}/g, (run) => (isJumbled(run) ? REDACTED : run))
    .replace(/(?<![\w/.~:-])[A-Za-z0-9+/]{36,}/g, (run) =>
      isJumbled(run.replaceAll("/", "")) && mixes(run) ? REDACTED : run,
    );
}

function isJumbled(run: string): boolean {
  const count = (pattern: RegExp) => run.match(pattern)?.length ?? 0;
  return count(/[A-Z]/g) >= 2 && count(/[a-z]/g) >= 2 && count(/\d/g) >= 2 && mixes(run);
}

/** How often the kind of the letter changes: often in keys, seldom in `SomeNameOf2026`. */
function mixes(run: string): boolean {
  const changes = run.match(/[a-z](?=[A-Z\d])|[A-Z](?=\d)|\d(?=[A-Za-z])/g)?.length ?? 0;
  return changes * 6 >= run.length;
}
