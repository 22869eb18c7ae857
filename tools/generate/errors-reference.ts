// docs/reference/errors.md from the sources: every export with a code of a file that defines errors.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

interface Entry {
  code: string;
  template: string;
  advice: string;
}

export async function errorsReference(root: string): Promise<{ path: string; text: string }> {
  const sections: string[] = [];
  for (const [name, files] of byPackage(root)) {
    const modules = await Promise.all(files.map((file) => import(join(root, file)) as Promise<object>));
    const entries = new Map(modules.flatMap(entriesOf).map((entry) => [entry.code, entry]));
    const rows = [...entries.values()].toSorted((a, b) => (a.code < b.code ? -1 : 1)).map(row);
    if (rows.length > 0)
      sections.push(`## ${name}\n\n| Code | Says | What to do |\n|---|---|---|\n${rows.join("\n")}\n`);
  }
  const text = `# Errors

Every error that Fjord makes itself has a code that stays the same from release to release. Words in braces are filled in.
Written by \`npm run generate\` from the catalogues in the sources.

${sections.join("\n")}`;
  return { path: "docs/reference/errors.md", text };
}

function byPackage(root: string): Map<string, string[]> {
  const defines = (file: string) =>
    /(errors|-error)\.ts$/.test(file) || readFileSync(join(root, file), "utf8").includes(" = defineError(");
  const files = globSync("packages/*/src/**/*.ts", { cwd: root }).sort();
  const catalogues = files.filter((file) => !file.endsWith(".test.ts") && defines(file));
  return Map.groupBy(catalogues, (file) => file.split("/")[1] ?? "") as Map<string, string[]>;
}

function entriesOf(module: object): Entry[] {
  return Object.values(module).filter(
    (value): value is Entry =>
      typeof value === "function" && "code" in value && "template" in value && "advice" in value,
  );
}

function row({ code, template, advice }: Entry): string {
  return `| \`${code}\` | ${cell(template)} | ${cell(advice)} |`;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ");
}
