/** An operating system and processor, in Go's words. */
export interface Platform {
  readonly os: string;
  readonly arch: string;
}

const ARCHITECTURES: Readonly<Record<string, string>> = {
  x64: "amd64",
  arm64: "arm64",
  ppc64: "ppc64le",
  s390x: "s390x",
};

/** Translates Node's `process.platform` and `process.arch`. */
export function platformOf(node: { platform: string; arch: string }): Platform {
  return { os: node.platform, arch: ARCHITECTURES[node.arch] ?? node.arch };
}

/** Environment variables, handed down from the composition root. */
export type Environment = Readonly<Record<string, string | undefined>>;
