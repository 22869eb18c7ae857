import type { FjordKind } from "./kind.ts";
import { kinds } from "./kinds/index.ts";
import { fieldRows, formats } from "./reference-fields.ts";
import type { AnySchema, ConditionCatalogue } from "./schema/index.ts";

/** The reference of all kinds in Markdown. `yaml` prints an object as YAML. */
export function kindsReference(yaml: (value: unknown) => string): string {
  return `# Kinds

Fjord keeps everything in Kubernetes objects of the group \`fjord.dev\`, version \`v1alpha1\`. \`kubectl get fjord -A\` lists them all;
\`kubectl explain site.spec.sharing\` says on the command line what this page says. It is written by \`npm run generate\` from
the sources in \`packages/api/src/kinds\`.

\`kubectl apply --server-side -f packages/api/manifests\` teaches a cluster all of them.

${table(["Kind", "Short name", "Scope", "What it is"], kinds.map(overviewRow))}

## Types

${table(["Type", "What it must be"], formats())}

An object that breaks a rule is refused by the API server with the words given here. Fields that are not listed are dropped
by the server, and refused where the client asks for strict checking, as \`kubectl\` does.

${kinds.map((kind) => kindSection(kind, yaml)).join("\n")}`;
}

function overviewRow(kind: FjordKind): string[] {
  return [`[${kind.kind}](#${kind.kind.toLowerCase()})`, shortNames(kind), scope(kind), kind.purpose];
}

function kindSection(kind: FjordKind, yaml: (value: unknown) => string): string {
  const { metadata, spec } = kind.example;
  const example = { apiVersion: `${kind.group}/${kind.version}`, kind: kind.kind, metadata, ...(spec ? { spec } : {}) };
  return `## ${kind.kind}

${kind.purpose}

- **Names**: \`${kind.plural}\`, ${shortNames(kind)}; ${scope(kind).toLowerCase()}-scoped.
- **spec** is written by ${kind.writers.spec}.
- **status** is written by ${kind.writers.status}.
${(kind.rules ?? []).map(({ message, fieldPath }) => `- ${fieldPath ? `\`${fieldPath.slice(1)}\` ` : ""}${message}.\n`).join("")}
An example with little more than what is required:

\`\`\`yaml
${yaml(example).trimEnd()}
\`\`\`

### Columns of ${kind.kind}

${table(["Column", "Shown", "Meaning"], columnRows(kind))}

### Fields of ${kind.kind}

${table(["Field", "Type", "Default", "Limits", "Meaning"], [...fieldRows("spec", kind.spec), ...fieldRows("status", kind.status)])}

${conditionSections(kind)}`;
}

function columnRows(kind: FjordKind): string[][] {
  return kind.columns.map((column) => [column.name, column.wide ? "with `-o wide`" : "always", column.description]);
}

function conditionSections(kind: FjordKind): string {
  return catalogues("status", kind.status)
    .map(([path, catalogue]) => {
      const rows = Object.entries(catalogue).flatMap(([type, { meaning, reasons }]) => [
        [`**${type}**`, "", meaning],
        ...Object.entries(reasons).map(([reason, why]) => ["", `\`${reason}\``, why]),
      ]);
      const where = path === "status.conditions" ? "" : ` in ${path}`;
      return `### Conditions of ${kind.kind}${where}\n\n${table(["Condition", "Reason", "Meaning"], rows)}\n`;
    })
    .join("\n");
}

function catalogues(path: string, schema: AnySchema): [string, ConditionCatalogue][] {
  const own: [string, ConditionCatalogue][] = schema.parts.conditions ? [[path, schema.parts.conditions]] : [];
  const below = Object.entries(schema.parts.children ?? {}).toSorted(
    ([a], [b]) => Number(b === ".conditions") - Number(a === ".conditions"),
  );
  return [...own, ...below.flatMap(([suffix, child]) => catalogues(path + suffix, child))];
}

function shortNames(kind: FjordKind): string {
  return kind.shortNames.map((name) => `\`${name}\``).join(", ");
}

function scope(kind: FjordKind): string {
  return kind.namespaced ? "Namespace" : "Cluster";
}

function table(head: string[], rows: string[][]): string {
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.map(cell).join(" | ")} |`).join("\n");
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ");
}
