import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import { build } from "esbuild";
import { importsOf } from "./import-specifiers.ts";

const specifiers = (source: string) => importsOf(source).map(({ specifier }) => specifier);

describe("every way to name a module is seen:", () => {
  const ways: Record<string, string> = {
    "named, over several lines": 'import {\n  a,\n  b,\n} from "x";',
    "types alone": 'import type { A } from "x";',
    "everything under a name": 'import * as a from "x";',
    "default and named": 'import a, { b } from "x";',
    "for its effect": 'import "x";',
    "names that are strings": 'import { "a-b" as c } from "x";',
    "re-exported": 'export {\n  a,\n} from "x";',
    "re-exported whole": 'export * as a from "x";',
    dynamic: 'const a = await import("x");',
    "dynamic, with a space and attributes": 'await import ("x", { with: { type: "json" } });',
    "dynamic, over several lines, after a comment": 'await import(\n  /* why */ "x"\n);',
    "dynamic, in a template without substitutions": "await import(`x`);",
    "as a type": 'type A = import("x").A;',
    required: 'import a = require("x");',
    "required in an expression": 'const a = createRequire(import.meta.url)("y"), b = require("x");',
    "built in": 'process.getBuiltinModule("x");',
    "second on its line": 'const a = 1; import { b } from "x";',
    "around a comment with a quote": 'import {\n  a, // don\'t\n  b,\n} from "x";',
    "between strings that look like a comment": 'const a = "/*";\nimport { b } from "x";\nconst c = "*/";',
    "after a pattern with a quote": 'const a = /["\'`]/.test(b);\nimport { c } from "x";',
    "after templates within templates": 'const a = `${b ? `\'${{ c: 1 }.c}` : 2}"`;\nimport { d } from "x";',
    "inside a substitution": 'const a = `${await import("x")}`;',
  };
  for (const [way, source] of Object.entries(ways)) test(way, () => assert.ok(specifiers(source).includes("x"), way));
});

test("what only looks like an import is none", () => {
  assert.deepEqual(
    specifiers('// import "a";\n/* import "b"; */\nconst c = \'import "d"\';\nexport const from = "e";'),
    [],
  );
  assert.deepEqual(specifiers('import.meta.resolve("a");\nexport function f() { return from("b"); }'), []);
  assert.deepEqual(specifiers("const text = `import 'a';`;"), []);
});

test("lines are counted through comments, strings and templates", () => {
  const source = '/*\n\n*/\nconst a = `\n`;\nimport "x";\n';
  assert.deepEqual(importsOf(source), [{ specifier: "x", line: 6 }]);
});

test("a real parser finds nothing in this repository that is not found here", async () => {
  const root = dirname(dirname(import.meta.dirname));
  const files = globSync(["packages/*/src/**/*.ts", "tools/**/*.ts"], { cwd: root });
  assert.ok(files.length > 300);
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: files,
    bundle: true,
    write: false,
    outdir: "unused",
    platform: "node",
    format: "esm",
    metafile: true,
    logLevel: "silent",
    plugins: [
      {
        name: "external",
        setup({ onResolve }) {
          onResolve({ filter: /.*/ }, ({ kind, path }) =>
            kind === "entry-point" ? undefined : { path, external: true },
          );
        },
      },
    ],
  });
  for (const [file, { imports }] of Object.entries(metafile.inputs)) {
    const seen = new Set(specifiers(readFileSync(join(root, file), "utf8")));
    for (const { path } of imports) assert.ok(seen.has(path), `${file}: ${path}`);
  }
});
