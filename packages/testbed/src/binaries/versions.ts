/** Every version the test bed depends on. Change one here and the next run fetches it; nothing else names a version. */

/** The Kubernetes minors that a site can be asked for. */
export type KubernetesMinor = "1.36" | "1.35";

/** What a site runs: a version of Kubernetes, or Fjord's own control plane. */
export type Substrate = KubernetesMinor | "microkube";

/** The versions of Kubernetes among them. */
export function minorsOf(substrates: readonly Substrate[]): KubernetesMinor[] {
  return substrates.filter((one) => one !== "microkube");
}

export const DEFAULT_MINOR: KubernetesMinor = "1.36";

/** The versions whose programs the nodes of such sites run: microkube's have those of the default one. */
export function nodeMinorsOf(substrates: readonly Substrate[]): KubernetesMinor[] {
  return [...new Set(substrates.map((one) => (one === "microkube" ? DEFAULT_MINOR : one)))];
}

/** A version, and the oldest Go that its module compiles with. */
export interface Pin {
  readonly version: `v${string}`;
  readonly go: string;
}

export const KUBERNETES: Readonly<Record<KubernetesMinor, Pin>> = {
  "1.36": { version: "v1.36.3", go: "1.26.0" },
  "1.35": { version: "v1.35.4", go: "1.25.0" },
};

export const KUBERNETES_MINORS = Object.keys(KUBERNETES) as readonly KubernetesMinor[];

/** The oldest kubectl that people may still use with the newest Kubernetes here: four minors older. */
export const OLD_KUBECTL: Pin = { version: "v1.32.13", go: "1.23.0" };

/** Whose charts people bring along. */
export const HELM: Pin = { version: "v3.22.0", go: "1.26.0" };

export const ETCD: Pin = { version: "v3.6.16", go: "1.26.0" };
export const COREDNS: Pin = { version: "v1.15.0", go: "1.26.0" };
export const KWOK: Pin = { version: "v0.8.0", go: "1.26.0" };
export const SAMPLE_APISERVER: Pin = { version: "v0.36.3", go: "1.26.0" };
export const WIREGUARD: Pin = { version: "v0.0.0-20260522210424-ecfc5a8d5446", go: "1.23.1" };
export const KUBE_ROUTER: Pin = { version: "v2.2.1", go: "1.22.5" };
export const METRICS_SERVER: Pin = { version: "v0.9.0", go: "1.26.4" };

/** From this release on, Go fetches a newer toolchain by itself when a module asks for one and GOTOOLCHAIN allows it. */
export const GO_WITH_TOOLCHAINS = "1.21.0";

/** What real nodes, tests of the page and of links, and images of the end-to-end suite need from Debian. Debian's stable release fixes the versions, so only names stand here. */
export const DEBIAN_PACKAGES = [
  "containerd",
  "runc",
  "containernetworking-plugins",
  "busybox-static",
  "nftables",
  "iptables",
  "iproute2",
  "ipset",
  "util-linux",
  "chromium",
  "iperf3",
  "tcpdump",
  "wireguard-tools",
  "qemu-system-x86",
  "bind9-dnsutils",
  "netcat-openbsd",
  "curl",
  "libc-bin",
  "dash",
] as const;

export type DebianPackage = (typeof DEBIAN_PACKAGES)[number];

export function isKubernetesMinor(text: string): text is KubernetesMinor {
  return Object.hasOwn(KUBERNETES, text);
}

/** Compares dotted numbers; a leading `v` or `go` and anything after the numbers are ignored. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [numbers(a), numbers(b)];
  for (let i = 0; i < 3; i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return Math.sign(difference);
  }
  return 0;
}

/** Whether both are of one minor: v1.36.3 and v1.36.0 are. */
export function sameMinor(a: string, b: string): boolean {
  const [left, right] = [numbers(a), numbers(b)];
  return left[0] === right[0] && left[1] === right[1];
}

function numbers(version: string): number[] {
  const match = /\d+(?:\.\d+)*/.exec(version);
  return match === null ? [] : match[0].split(".").map(Number);
}
