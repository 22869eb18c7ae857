// The direction of dependencies, as ARCHITECTURE.md draws it. Pure: takes file names and texts, gives violations.

import { importsOf } from "./import-specifiers.ts";

/** The packages from the ground up. A package may import only those before it. */
export const LAYERS = [
  "base",
  "api",
  "kube",
  "microkube",
  "node",
  "continuum",
  "agent",
  "facade",
  "cli",
  "dashboard",
  "testbed",
] as const;

/** What a package must not know although it stands below it: Kubernetes code knows nothing of Fjord's kinds. */
const STRANGERS: Record<string, readonly string[]> = {
  kube: ["api"],
  microkube: ["api"],
  node: ["api", "microkube"],
};

/** Packages that do no I/O: these are the only modules of Node that they may import. */
const PURE: Record<string, readonly string[]> = { base: [], api: [] };

export interface SourceFile {
  /** Path from the root of the repository. */
  readonly path: string;
  readonly text: string;
}

export interface Manifest {
  /** The folder below packages/. */
  readonly package: string;
  readonly dependencies: readonly string[];
}

export interface Violation {
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

/** Everything in `files` that imports against the direction, or what its package does not declare. */
export function findViolations(files: readonly SourceFile[], manifests: readonly Manifest[]): Violation[] {
  const declared = new Map(manifests.map((manifest) => [manifest.package, new Set(manifest.dependencies)]));
  return files.flatMap((file) => {
    const owner = packageOf(file.path);
    if (owner === undefined) return [];
    return importsOf(file.text).flatMap(({ specifier, line }) => {
      const message = judge(file.path, owner, specifier, declared.get(owner) ?? new Set());
      return message === undefined ? [] : [{ path: file.path, line, message }];
    });
  });
}

function judge(path: string, owner: string, specifier: string, declared: ReadonlySet<string>): string | undefined {
  const test = isTest(path) || new RegExp(`^packages/${owner}/(bench|examples)/`).test(path);
  if (specifier.startsWith(".")) {
    if (!test && isTest(resolvePath(path, specifier))) return `${specifier} is there for tests only`;
    return judgeRelative(path, owner, specifier);
  }
  if (specifier.startsWith("node:")) {
    const allowed = PURE[owner];
    if (allowed === undefined || test || allowed.includes(specifier)) return undefined;
    return `${owner} does no I/O: it must not import ${specifier}`;
  }
  const name = moduleName(specifier);
  if (name.startsWith("@fjord/")) return judgePackage(owner, name.slice("@fjord/".length), test, declared);
  if (declared.has(name) || test) return undefined;
  return `${owner} imports ${name}, which packages/${owner}/package.json does not declare`;
}

/** A test, or what tests share: `test-*.ts`. Nothing that is shipped imports either. */
function isTest(path: string): boolean {
  return path.endsWith(".test.ts") || /\/test-[^/]+\.ts$/.test(path);
}

function judgePackage(owner: string, target: string, test: boolean, declared: ReadonlySet<string>): string | undefined {
  const from = LAYERS.indexOf(owner as (typeof LAYERS)[number]);
  const to = LAYERS.indexOf(target as (typeof LAYERS)[number]);
  if (from < 0) return `${owner} is not in the list of packages (tools/check/import-direction.ts)`;
  if (to < 0) return `@fjord/${target} is not in the list of packages (tools/check/import-direction.ts)`;
  if (target === owner) return `${owner} imports itself by name: use a relative path`;
  if (test && target === "testbed") return undefined;
  if (to > from) return `${owner} must not import ${target}: dependencies point from ${target} to ${owner}`;
  if (STRANGERS[owner]?.includes(target) && !test) return `${owner} knows nothing of ${target} and must not import it`;
  if (!declared.has(`@fjord/${target}`) && !test) {
    return `${owner} imports @fjord/${target}, which packages/${owner}/package.json does not declare`;
  }
  return undefined;
}

function judgeRelative(path: string, owner: string, specifier: string): string | undefined {
  const target = resolvePath(path, specifier);
  if (!target.startsWith(`packages/${owner}/`)) {
    return `${specifier} leaves the package ${owner}: import other packages by name`;
  }
  const from = domainOf(path);
  const to = domainOf(target);
  if (from === undefined || to === undefined || from === to || target.endsWith(`/${to}/index.ts`)) return undefined;
  return `${from} reaches into the inside of ${to}: import ${to}/index.ts`;
}

/** A domain of continuum: none imports a sibling's internals. */
function domainOf(path: string): string | undefined {
  return /^packages\/continuum\/src\/([^/]+)\//.exec(path)?.[1];
}

function packageOf(path: string): string | undefined {
  return /^packages\/([^/]+)\//.exec(path)?.[1];
}

function moduleName(specifier: string): string {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}

function resolvePath(from: string, specifier: string): string {
  const parts = from.split("/").slice(0, -1);
  for (const part of specifier.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== ".") parts.push(part);
  }
  return parts.join("/");
}
