import { createHash } from "node:crypto";
import type { Node } from "@fjord/kube";

/** On a virtual node: keys of the labels that Fjord gave it, so that those alone are taken away again. */
export const LABELS_ANNOTATION = "fjord.dev/labels";
/** On a virtual node: a digest of those labels, by which it is seen that somebody else has changed one. */
export const LABELS_DIGEST_ANNOTATION = "fjord.dev/labels-digest";

type Labels = Readonly<Record<string, string>>;

/** What a Node says of the labels that it is given. To be written together with these. */
export function notesOf(labels: Labels): Labels {
  return {
    [LABELS_ANNOTATION]: Object.keys(labels).sort().join(","),
    [LABELS_DIGEST_ANNOTATION]: digestOf(Object.keys(labels), labels),
  };
}

/** Keys of the labels that a Node was given; undefined where it does not say. */
export function givenKeys({ metadata }: Node): string[] | undefined {
  return metadata.annotations?.[LABELS_ANNOTATION]?.split(",").filter((key) => key !== "");
}

/**
 * Whether a virtual node has all the labels that it was given, as they were: whoever goes by its labels hears its owner then, and
 * not what somebody has done to the Node, which is put right. Nodes of older agents have no digest.
 */
export function hasGivenLabels(node: Node): boolean {
  const { labels = {}, annotations = {} } = node.metadata;
  const keys = givenKeys(node);
  if (keys === undefined || !keys.every((key) => Object.hasOwn(labels, key))) return false;
  const digest = annotations[LABELS_DIGEST_ANNOTATION];
  return digest === undefined || digest === digestOf(keys, labels);
}

function digestOf(keys: readonly string[], labels: Labels): string {
  const sorted = [...keys].sort().map((key) => [key, labels[key]]);
  return createHash("sha256").update(JSON.stringify(sorted)).digest("base64url").slice(0, 22);
}
