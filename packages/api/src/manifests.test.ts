import assert from "node:assert/strict";
import { globSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, it } from "node:test";
import { parse } from "yaml";
import { kinds } from "./index.ts";
import { customResourceDefinitions } from "./manifests.ts";
import type { AnySchema, ConditionCatalogue, StructuralSchema } from "./schema/index.ts";
import { refusals } from "./testing/refused/index.ts";

const directory = join(import.meta.dirname, "../manifests");
const manifest = (name: string) => join(directory, `${name}.yaml`);

describe("the committed manifests", () => {
  it("are one for each kind, and say what the sources say", () => {
    const committed = globSync("*", { cwd: directory }).sort();
    assert.deepEqual(committed, kinds.map((kind) => `${kind.plural}.fjord.dev.yaml`).sort());
    for (const definition of customResourceDefinitions()) {
      const text = readFileSync(manifest(definition.metadata.name), "utf8");
      assert.deepEqual(parse(text), JSON.parse(JSON.stringify(definition)), "`npm run generate` brings it up to date");
    }
  });

  it("are under 60 KB each", () => {
    for (const file of globSync(join(directory, "*.yaml"))) {
      assert.ok(statSync(file).size < 60_000, `${basename(file)} has ${statSync(file).size} bytes`);
    }
  });
});

describe("every definition", () => {
  it("has a status subresource, the category and columns that end with the age", () => {
    for (const { spec, metadata } of customResourceDefinitions()) {
      const [version] = spec.versions;
      assert.deepEqual(version?.subresources, { status: {} }, metadata.name);
      assert.deepEqual(spec.names.categories, ["fjord"]);
      assert.equal(version?.additionalPrinterColumns.at(-1)?.name, "Age");
    }
  });

  it("describes every field and limits every size", () => {
    for (const { spec } of customResourceDefinitions()) {
      const root = spec.versions[0]?.schema.openAPIV3Schema ?? {};
      const faults = Object.entries(root.properties ?? {})
        .filter(([name]) => name === "spec" || name === "status")
        .flatMap(([name, node]) => faultsOf(`${spec.names.kind}.${name}`, node, true));
      assert.deepEqual(faults, []);
    }
  });

  it("has words for every rule: what must hold, in a sentence that a refusal can end with", () => {
    const rules = customResourceDefinitions().flatMap((definition) => rulesOf(definition));
    assert.ok(rules.length > 100);
    for (const { message } of rules) assert.match(message, /^[a-zA-Z].{14,}[^.]$/);
  });
});

describe("the refusals that are tried on real API servers", () => {
  it("leave out no rule of any spec", () => {
    for (const kind of kinds) {
      const rules = [...rulesOf(kind.spec.node), ...(kind.rules ?? [])];
      const tried = refusals.filter((refusal) => refusal.kind === kind);
      const missing = new Set(
        rules.map(({ message }) => message).filter((message) => !tried.some(({ words }) => message.includes(words))),
      );
      assert.deepEqual([...missing], [], kind.kind);
    }
  });
});

describe("conditions", () => {
  it("are CamelCase words with CamelCase reasons, each with its meaning in a sentence", () => {
    for (const kind of kinds) {
      const catalogues = cataloguesOf(kind.status);
      assert.ok(
        catalogues.some((catalogue) => "Ready" in catalogue || "Admitted" in catalogue || "Active" in catalogue),
      );
      for (const [type, { meaning, reasons }] of catalogues.flatMap((catalogue) => Object.entries(catalogue))) {
        assert.match(type, /^([A-Z][a-z]+)+$/);
        assert.match(meaning, /^[A-Z].*\.$/);
        for (const [reason, why] of Object.entries(reasons)) {
          assert.match(reason, /^([A-Z][a-z]+)+$/);
          assert.match(why, /^[A-Za-z].*\.$/);
        }
      }
    }
  });
});

function faultsOf(path: string, node: StructuralSchema, field: boolean): string[] {
  const faults: string[] = [];
  if (field && !node.description?.endsWith(".")) faults.push(`${path} has no description that ends with a full stop`);
  if (node.type === "string" && !node.maxLength && !node.enum && !node.format) faults.push(`${path} has no maxLength`);
  if (node.type === "array" && !node.maxItems) faults.push(`${path} has no maxItems`);
  if (node.additionalProperties && !node.maxProperties) faults.push(`${path} has no maxProperties`);
  for (const [name, child] of Object.entries(node.properties ?? {}))
    faults.push(...faultsOf(`${path}.${name}`, child, true));
  if (node.items) faults.push(...faultsOf(`${path}[]`, node.items, false));
  if (node.additionalProperties) faults.push(...faultsOf(`${path}.*`, node.additionalProperties, false));
  return faults;
}

function rulesOf(value: unknown): { rule: string; message: string }[] {
  if (typeof value !== "object" || value === null) return [];
  const own = (value as StructuralSchema)["x-kubernetes-validations"] ?? [];
  return [...own, ...Object.values(value).flatMap(rulesOf)];
}

function cataloguesOf(schema: AnySchema): ConditionCatalogue[] {
  const own = schema.parts.conditions ? [schema.parts.conditions] : [];
  return [...own, ...Object.values(schema.parts.children ?? {}).flatMap(cataloguesOf)];
}
