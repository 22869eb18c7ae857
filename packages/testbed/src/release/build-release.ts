import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { build, type Plugin } from "esbuild";

/** The programs that are shipped, and where each begins. */
export const PROGRAMS: Readonly<Record<string, string>> = {
  fjord: "packages/cli/src/cli.ts",
  "fjord-agent": "packages/agent/src/cli.ts",
  "fjord-node": "packages/node/src/cli.ts",
  microkube: "packages/microkube/src/cli.ts",
};

/** What most commands never need, in a file of its own: all of a file is read at each start. */
export const PARTS: Readonly<Record<string, string>> = { "fjord-micro": "packages/cli/src/micro/index.ts" };

/** Lives long and keeps the text of all that it reads, so that what it seldom needs is in files of its own. */
export const SPLIT: ReadonlySet<string> = new Set(["fjord-agent"]);

/** An older Node is told in words, and not by what it lacks first. */
const needsNode = (program: string) =>
  `if (Number.parseInt(process.versions.node, 10) < 24) { process.stderr.write("error: ${program} needs Node 24 or newer, and this is " + process.version + "\\nhttps://nodejs.org/en/download says how to get it.\\n"); process.exit(1); }`;

/** Libraries that are not ES modules ask for Node's modules by `require`. */
const BANNER =
  'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);';

/** Bundles each program into one file of `folder`, and what the agent seldom needs into others beside it; gives the files that it was made of, from the root. */
export async function buildRelease(
  root: string,
  folder: string,
  programs: readonly string[] = [...Object.keys(PROGRAMS), ...Object.keys(PARTS)],
): Promise<string[]> {
  const sources = new Set<string>();
  for (const program of programs) {
    const { metafile } = await build({
      absWorkingDir: root,
      entryPoints: { [program]: PROGRAMS[program] ?? PARTS[program] ?? "" },
      outdir: folder,
      outExtension: { ".js": ".mjs" },
      bundle: true,
      splitting: SPLIT.has(program),
      chunkNames: `${program}-[name]-[hash]`,
      format: "esm",
      platform: "node",
      target: "node24",
      minifySyntax: true,
      minifyWhitespace: true,
      legalComments: "none",
      banner: { js: `${BANNER}\n${needsNode(program)}` },
      plugins: [ownPlace(root), builtInsOnDemand, namesOnDemand, partsApart(root)],
      logLevel: "error",
      metafile: true,
    });
    for (const source of Object.keys(metafile.inputs)) if (!MADE.test(source)) sources.add(source);
  }
  return [...sources];
}

const BUILT_IN = "built-in";
const NAMES = "names";
/** What no file is, and is made here. */
const MADE = new RegExp(`^(${BUILT_IN}|${NAMES}):`);

/**
 * In one file every import of Node's own modules would be made at the start, whatever the command: that takes longer than all the
 * rest. Asked for in this way, each is loaded by the first module that needs it.
 */
const builtInsOnDemand: Plugin = {
  name: "built-ins on demand",
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^node:/ }, ({ path, kind }) =>
      kind === "dynamic-import" ? { path, external: true } : { path, namespace: BUILT_IN },
    );
    onLoad({ filter: /.*/, namespace: BUILT_IN }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)})`,
      loader: "js",
    }));
  },
};

/**
 * A library that is imported when it is needed, and is no ES module, has one name where programs are split, `default`. Here it has all that Node gives it.
 */
const namesOnDemand: Plugin = {
  name: "names on demand",
  setup: ({ onResolve, onLoad, resolve }) => {
    onResolve({ filter: /^[^./]/ }, async ({ path, kind, resolveDir }) => {
      if (kind !== "dynamic-import") return undefined;
      const found = await resolve(path, { kind: "import-statement", resolveDir });
      return found.path.includes("/node_modules/") ? { path: found.path, namespace: NAMES } : undefined;
    });
    onLoad({ filter: /.*/, namespace: NAMES }, async ({ path }) => {
      const names = Object.keys((await import(path)) as object).filter((name) => /^\w+$/.test(name));
      return { contents: `export { ${names.join(", ")} } from ${JSON.stringify(path)}`, resolveDir: dirname(path) };
    });
  },
};

/** A part that is imported when it is needed stays a file of its own, beside the program. */
function partsApart(root: string): Plugin {
  const parts = new Map(Object.entries(PARTS).map(([name, file]) => [join(root, file), name]));
  return {
    name: "parts apart",
    setup: ({ onResolve }) => {
      onResolve({ filter: /\/index\.ts$/ }, ({ path, resolveDir, kind }) => {
        const part = kind === "dynamic-import" ? parts.get(join(resolveDir, path)) : undefined;
        return part === undefined ? undefined : { path: `./${part}.mjs`, external: true };
      });
    },
  };
}

/** A module that reads files beside itself finds them in the same place below the bundle. */
function ownPlace(root: string): Plugin {
  return {
    name: "own place",
    setup: ({ onLoad }) => {
      onLoad({ filter: /packages\/[a-z]+\/src\/.*\.ts$/ }, ({ path }) => {
        const place = relative(join(root, "packages"), dirname(path));
        const contents = readFileSync(path, "utf8")
          .replaceAll("import.meta.dirname", `(import.meta.dirname + ${JSON.stringify(`/${place}`)})`)
          .replaceAll('createRequire(import.meta.url)("yaml")', 'require("yaml")');
        return { contents, loader: "ts" };
      });
    },
  };
}
