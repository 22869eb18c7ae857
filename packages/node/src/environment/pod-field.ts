import type { Pod } from "@fjord/kube";
import type { PodFacts } from "../volumes/pod-volumes.ts";
import { UnsupportedField } from "./errors.ts";

/** The value of a field as a `fieldRef` gives it, in variables and in downward API volumes. */
export function podField(pod: Pod, path: string, facts: PodFacts): string {
  const entry = /^metadata\.(labels|annotations)\['(.*)'\]$/s.exec(path);
  if (entry !== null) return own(pod.metadata[entry[1] as "labels" | "annotations"], entry[2] ?? "") ?? "";
  switch (path) {
    case "metadata.name":
      return pod.metadata.name ?? "";
    case "metadata.namespace":
      return pod.metadata.namespace ?? "";
    case "metadata.uid":
      return pod.metadata.uid ?? "";
    case "metadata.labels":
      return formatMap(pod.metadata.labels ?? {});
    case "metadata.annotations":
      return formatMap(pod.metadata.annotations ?? {});
    case "spec.nodeName":
    case "spec.host":
      return pod.spec?.nodeName ?? "";
    case "spec.serviceAccountName":
      return pod.spec?.serviceAccountName ?? "";
    case "status.hostIP":
      return facts.hostIPs[0] ?? "";
    case "status.hostIPs":
      return facts.hostIPs.join(",");
    case "status.podIP":
      return facts.podIPs[0] ?? "";
    case "status.podIPs":
      return facts.podIPs.join(",");
  }
  throw new UnsupportedField({ path });
}

/** One `key="value"` a line, sorted by key. */
export function formatMap(map: Readonly<Record<string, string>>): string {
  const keys = Object.keys(map).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return keys.map((key) => `${key}=${quote(map[key] ?? "")}`).join("\n");
}

const escapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  "\\": "\\\\",
  "\u0007": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
};

/** A text in double quotes with the escapes of Go, which readers of these files know. */
export function quote(text: string): string {
  let quoted = '"';
  for (const character of text) quoted += escapes[character] ?? plainOrEscaped(character);
  return `${quoted}"`;
}

function plainOrEscaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x7f && code >= 0x20) return character;
  if (code < 0x20 || code === 0x7f) return `\\x${code.toString(16).padStart(2, "0")}`;
  if (/[\p{L}\p{M}\p{N}\p{P}\p{S}]/u.test(character)) return character;
  return code > 0xffff ? `\\U${code.toString(16).padStart(8, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
}

/** An entry of a map that came from outside, where `constructor` is a name like any other. */
export function own<T>(map: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return map !== undefined && Object.hasOwn(map, key) ? map[key] : undefined;
}
