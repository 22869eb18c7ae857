import { spawnSync } from "node:child_process";

/** What a program said when asked for its version. */
export type Probe = { readonly version: `v${string}` } | { readonly problem: string };

const PATIENCE_MS = 5_000;

/**
 * Asks a program for its version. It gets no input, an environment with nothing to react to, and five seconds:
 * whatever lies in PATH under a well-known name must not be able to hold the test bed up.
 */
export function probeVersion(path: string, args: readonly string[], patienceMs = PATIENCE_MS): Probe {
  const result = spawnSync(path, args, {
    encoding: "utf8",
    env: { PATH: "/usr/bin:/bin", HOME: "/nonexistent", LC_ALL: "C" },
    killSignal: "SIGKILL",
    maxBuffer: 1024 * 1024,
    stdio: ["ignore", "pipe", "pipe"],
    timeout: patienceMs,
  });
  if (result.error !== undefined) {
    const code = (result.error as NodeJS.ErrnoException).code;
    return {
      problem: code === "ETIMEDOUT" ? `did not tell its version within ${patienceMs / 1000} s` : `cannot run (${code})`,
    };
  }
  if (result.status !== 0)
    return { problem: `\`${args.join(" ")}\` failed (${result.signal ?? `exit code ${result.status}`})` };
  const version = parseVersion(`${result.stdout}\n${result.stderr}`);
  return version === undefined ? { problem: "does not tell its version" } : { version };
}

/** The first version in a program's answer: `Kubernetes v1.36.3`, `etcd Version: 3.6.16`, `CoreDNS-1.15.0`. */
export function parseVersion(text: string): `v${string}` | undefined {
  const match = /(?:^|[\s-])v?(\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?)/.exec(text);
  return match === null ? undefined : `v${match[1]}`;
}
