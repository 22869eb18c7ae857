import type { KubeObject } from "@fjord/base";
import type { Definition } from "./definition.ts";

/** Versions that differ in nothing but their name. */
export function convertByName({ spec }: Definition, object: KubeObject, version: string): KubeObject {
  return { ...object, apiVersion: `${spec.group}/${version}` };
}
