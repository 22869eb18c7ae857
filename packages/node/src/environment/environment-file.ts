import { EnvironmentFileInvalid } from "./errors.ts";

/**
 * The value of a key in a file of `NAME='value'` lines, as an init container leaves it for `fileKeyRef`; undefined where
 * it has none. Values may go over several lines; nothing in them is special. What comes after the key is not looked at.
 */
export function environmentFileValue(text: string, key: string): string | undefined {
  const lines = text.split("\n").map((line) => line.replace(/\r$/, ""));
  if (lines.at(-1) === "") lines.pop();
  for (let index = 0; index < lines.length; index++) {
    const start = index;
    const fail = (reason: string, at = start): never => {
      throw new EnvironmentFileInvalid({ line: at + 1, reason });
    };
    const line = (lines[index] ?? "").replace(/^[ \t]+/, "");
    if (line === "" || line.startsWith("#")) continue;
    const equals = line.indexOf("=");
    if (equals === -1) fail("missing '='");
    const name = line.slice(0, equals);
    if (name.trim() === "") fail("empty variable name");
    if (/[ \t]$/.test(name)) fail("whitespace before '=' is not allowed");
    let rest = line.slice(equals + 1);
    if (/^[ \t]/.test(rest)) {
      if (name === key) return undefined;
      continue;
    }
    if (!rest.startsWith("'")) fail("value must be enclosed in single quotes");
    rest = rest.slice(1);
    let value = "";
    while (!rest.includes("'")) {
      value += `${rest}\n`;
      index++;
      if (index >= lines.length) fail("unclosed single quote");
      rest = lines[index] ?? "";
    }
    const close = rest.indexOf("'");
    if (!/^[ \t]*(#|$)/.test(rest.slice(close + 1))) fail("unexpected content after closing quote", index);
    if (name === key) return value + rest.slice(0, close) || undefined;
  }
  return undefined;
}
