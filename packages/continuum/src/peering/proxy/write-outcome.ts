import type { HttpResponse } from "@fjord/kube";
import { fieldsOf } from "../../fields-of.ts";
import type { KubePath } from "./kube-path.ts";
import type { Outcome } from "./overlapping-writes.ts";
import type { Verb } from "./rules.ts";

/** A Status has a name and a few lines; objects may be large. */
const LONGEST_STATUS = 64 * 1024;

/** What the API keeps of what was written, by its answer. */
export function writeOutcome(
  verb: Verb,
  path: KubePath,
  { statusCode, body }: Pick<HttpResponse, "statusCode" | "body">,
): Outcome {
  const { name } = path;
  // There is nothing at the path: of a version that is not served, either, and then the object may well be there by another.
  if (statusCode === 404) return name !== undefined && statusIn(body)?.name === name ? "gone" : "undone";
  if (statusCode < 200 || statusCode >= 300) return "undone";
  if (verb !== "delete") return { kept: body.length };
  // Anything but a Status is an object that is still there.
  return statusIn(body) === undefined ? "undone" : "gone";
}

/** What a Status is about; undefined for any other answer. */
function statusIn(body: Buffer): { readonly name: unknown } | undefined {
  if (body.length > LONGEST_STATUS) return undefined;
  try {
    const { kind, details } = fieldsOf(JSON.parse(body.toString("utf8")));
    return kind === "Status" ? { name: fieldsOf(details).name } : undefined;
  } catch {
    // No JSON, as whoever answers for paths that are not served gives.
    return undefined;
  }
}
