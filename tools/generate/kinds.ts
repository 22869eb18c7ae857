// The CRD manifests of packages/api and docs/reference/kinds.md, both from the kinds' one source.
import { customResourceDefinitions } from "@fjord/api/manifests";
import { stringify } from "yaml";
import { kindsReference } from "../../packages/api/src/reference.ts";

export const manifestDirectory = "packages/api/manifests";

export function kindManifests(): { path: string; text: string }[] {
  return customResourceDefinitions().map((definition) => ({
    path: `${manifestDirectory}/${definition.metadata.name}.yaml`,
    text: `# Written by \`npm run generate\` from packages/api/src/kinds.\n${print(definition)}`,
  }));
}

export function kindsPage(): { path: string; text: string } {
  return { path: "docs/reference/kinds.md", text: kindsReference(print) };
}

/** Anchors are off because equal parts of two schemas are equal by chance, and kubectl's readers expect plain YAML. */
function print(value: unknown): string {
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });
}
