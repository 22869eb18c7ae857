import { appendFileSync, chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";

/** A directory that is gone after the test. */
export function temporaryDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "fjord-binaries-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Writes an executable shell script, making its folders. */
export function writeScript(path: string, body: string): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}

/** A program that knows nothing but its version. */
export function writeProgram(path: string, version: string): string {
  return writeScript(path, `echo "Fake ${version}"`);
}

export interface FakeGo {
  /** The folder to put in PATH. */
  readonly folder: string;
  /** What it was called with, one line per call. */
  calls(): string[];
}

/**
 * A `go` that knows the four commands the test bed uses. Its `build` and `test -c` write programs that tell the version
 * their module was required at in go.mod; `beforeBuild` is shell that runs first.
 */
export function writeFakeGo(directory: string, options: { beforeBuild?: string; goVersion?: string } = {}): FakeGo {
  const folder = join(directory, "fake-go");
  const log = join(directory, "go-calls.log");
  const module = join(directory, "module");
  mkdirSync(module, { recursive: true });
  appendFileSync(log, "");
  const upstream = join(module, "go.mod");
  writeFileSync(
    upstream,
    "module k8s.io/kubernetes\n\ngo 1.26.0\n\ngodebug default=go1.26\n\nreplace (\n\tk8s.io/api => ./staging/src/k8s.io/api\n)\n",
  );
  for (const stage of ["node/fast", "node/heartbeat-with-lease", "pod/fast"]) {
    const stageFolder = join(module, "kustomize/stage", stage);
    mkdirSync(stageFolder, { recursive: true });
    writeFileSync(join(stageFolder, "stage.yaml"), `kind: Stage\nmetadata:\n  name: ${stage.replace("/", "-")}\n`);
    writeFileSync(join(stageFolder, "kustomization.yaml"), "kind: Kustomization\n");
  }
  writeScript(
    join(folder, "go"),
    `echo "$*" >> ${log}
case "$1" in
env) echo '{"GOVERSION":"${options.goVersion ?? "go1.26.0"}","GOTOOLCHAIN":"local","GOSUMDB":"sum.golang.org"}' ;;
mod) echo '{"GoMod":"${upstream}","Dir":"${module}"}' ;;
build)
  ${options.beforeBuild ?? ":"}
  version=$(sed -n 's/^require .* \\(v.*\\)$/\\1/p' go.mod)
  while [ "$1" != -o ]; do shift; done
  out=$2
  shift 2
  for package; do
    name=$(basename "$package"); [ "$name" = v3 ] && name=server
    printf '#!/bin/sh\\necho "Fake %s"\\n' "$version" > "$out$name"
    chmod +x "$out$name"
    echo "$package" >&2
  done ;;
test)
  version=$(sed -n 's/^require .* \\(v.*\\)$/\\1/p' go.mod)
  while [ "$1" != -o ]; do shift; done
  printf '#!/bin/sh\\necho "Fake tests %s"\\n' "$version" > "$2"
  chmod +x "$2" ;;
esac`,
  );
  return { folder, calls: () => readFileSync(log, "utf8").trim().split("\n").filter(Boolean) };
}

/** Resolves once `holds` does. */
export async function eventually(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 10));
}
