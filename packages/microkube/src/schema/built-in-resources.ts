import { readFileSync } from "node:fs";
import { dataFile } from "../data-file.ts";

/** A resource of a version, as Kubernetes' discovery tells it: what is not in the schemas, and not to be typed by hand. */
export interface BuiltInResource {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly verbs: readonly string[];
  readonly subresources: readonly BuiltInSubresource[];
}

export interface BuiltInSubresource {
  /** `status`, `scale`. */
  readonly name: string;
  /** Of what it takes and answers. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly verbs: readonly string[];
}

/** All that is built in, one entry per resource and version, in the order of Kubernetes' discovery. Reads a file. */
export function builtInResources(): BuiltInResource[] {
  return JSON.parse(readFileSync(dataFile("resources.json"), "utf8"));
}
