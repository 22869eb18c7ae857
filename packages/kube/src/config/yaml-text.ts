/** What a kubeconfig is made of. */
export type PlainValue = string | boolean | readonly PlainValue[] | { readonly [key: string]: PlainValue | undefined };

/** Words that need no quotes, and mean themselves to every reader of YAML. */
const WORD = /^[A-Za-z/][\w+/=.-]*$/;
const URL_TEXT = /^https?:\/\/[\w.:/-]*\w$/;
const MEANING = /^(true|false|yes|no|on|off|null|y|n|nan|inf)$/i;

/**
 * YAML, for what is written at every start of a program: the library that reads it takes as long to load as much of
 * the rest.
 */
export function yamlText(value: { readonly [key: string]: PlainValue | undefined }): string {
  return `${lines(value).join("\n")}\n`;
}

function lines(value: PlainValue): string[] {
  if (isList(value)) return value.flatMap((one) => nested("-", one));
  if (typeof value !== "object") return [scalar(value)];
  return Object.entries(value).flatMap(([key, one]) =>
    one === undefined ? [] : isEmpty(one) ? [`${scalar(key)}: ${scalar(one)}`] : entry(scalar(key), one),
  );
}

function entry(key: string, value: PlainValue): string[] {
  return [`${key}:`, ...lines(value).map((line) => `  ${line}`)];
}

/** An item of a list, whose first line stands beside its dash. */
function nested(dash: string, value: PlainValue): string[] {
  const [first, ...rest] = isEmpty(value) ? [scalar(value)] : lines(value);
  return [`${dash} ${first}`, ...rest.map((line) => `  ${line}`)];
}

const isList = (value: PlainValue): value is readonly PlainValue[] => Array.isArray(value);

/** Whether it takes one line. */
function isEmpty(value: PlainValue): boolean {
  return typeof value !== "object" || Object.keys(value).length === 0;
}

function scalar(value: PlainValue): string {
  if (typeof value === "string" && !MEANING.test(value) && (WORD.test(value) || URL_TEXT.test(value))) return value;
  return JSON.stringify(value);
}
