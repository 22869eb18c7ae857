export interface ManifestOptions {
  readonly version: string;
  readonly license: string;
  readonly programs: readonly string[];
  /** Files that programs import; a star stands for anything. */
  readonly parts: readonly string[];
}

/** The package.json of what is shipped: nothing has to be installed beside it. */
export function packageManifest({ version, license, programs, parts }: ManifestOptions): string {
  const manifest = {
    name: "fjord",
    version,
    description: "One computing continuum out of many Kubernetes clusters",
    license,
    type: "module",
    engines: { node: ">=24" },
    bin: Object.fromEntries(programs.map((program) => [program, `./${program}.mjs`])),
    files: [...[...programs, ...parts].map((name) => `${name}.mjs`), "microkube", "page"],
  };
  return `${JSON.stringify(manifest, undefined, 2)}\n`;
}
