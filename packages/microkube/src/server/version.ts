/** The Kubernetes version that is spoken. */
export const KUBERNETES_VERSION = "v1.36.3";

/** What `/version` answers. */
export function versionInfo(): Record<string, string> {
  return {
    major: "1",
    minor: "36",
    emulationMajor: "1",
    emulationMinor: "36",
    minCompatibilityMajor: "1",
    minCompatibilityMinor: "35",
    gitVersion: `${KUBERNETES_VERSION}+microkube`,
    gitCommit: "",
    gitTreeState: "clean",
    buildDate: "1970-01-01T00:00:00Z",
    goVersion: "",
    compiler: "node",
    platform: `${process.platform}/${process.arch === "x64" ? "amd64" : process.arch}`,
  };
}
