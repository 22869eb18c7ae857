import type { Platform } from "./platform.ts";
import {
  COREDNS,
  DEFAULT_MINOR,
  ETCD,
  HELM,
  KUBE_ROUTER,
  KUBERNETES,
  type KubernetesMinor,
  KWOK,
  METRICS_SERVER,
  OLD_KUBECTL,
  type Pin,
  SAMPLE_APISERVER,
  WIREGUARD,
} from "./versions.ts";

/**
 * What a caller asks for: the programs of a control plane, those of real nodes, kwok for simulated ones, Kubernetes' own
 * end-to-end suite with the programs of its images, an API server to aggregate, which one of its images holds,
 * metrics-server, a kubectl that is years old, Helm, WireGuard for links between sites, or another network for pods.
 */
export type BinarySet =
  | "control-plane"
  | "nodes"
  | "kwok"
  | "conformance"
  | "sample-apiserver"
  | "metrics-server"
  | "old-kubectl"
  | "helm"
  | "network"
  | "kube-router";

export type ComponentName =
  | "etcd"
  | "kube-apiserver"
  | "kube-controller-manager"
  | "kube-scheduler"
  | "kubectl"
  | "kubelet"
  | "kube-proxy"
  | "coredns"
  | "kwok"
  | "kwok-stages.yaml"
  | "e2e.test"
  | "ginkgo"
  | "agnhost"
  | "nonewprivs"
  | "sample-apiserver"
  | "metrics-server"
  | "old-kubectl"
  | "helm"
  | "wireguard-go"
  | "kube-router";

/** One file that a recipe yields: a program compiled from `package`, or YAML documents of the module joined into one file. */
export interface Component {
  readonly name: ComponentName;
  readonly set: BinarySet;
  readonly package?: string;
  /** The program is the package's tests. */
  readonly tests?: boolean;
  /** Folders of the module whose resources are joined. */
  readonly documents?: readonly string[];
  /** What makes the program print its version and leave. */
  readonly versionArguments?: readonly string[];
}

/** Where a release is downloaded from. Paths are relative to the site. */
export interface Download {
  readonly site: "kubernetes" | "github";
  readonly path: string;
  /** A file holding the SHA-256 of `path`, alone or in a list with names. */
  readonly checksum: string;
  /** The program inside, when `path` is a tar archive. */
  readonly member?: string;
}

/** How one version of one Go module becomes files. A new program of the test bed is a new row here. */
export interface Recipe {
  /** With the version, the name of the folder in the cache. */
  readonly name: string;
  readonly pin: Pin;
  readonly module: string;
  /** What a fork calls itself: the module that it was made from. */
  readonly declared?: string;
  /** Kubernetes' go.mod replaces its staging modules by folders, which only work inside its repository. */
  readonly staging?: boolean;
  readonly ldflags: readonly string[];
  /** A first build on two cores, in minutes: for the progress line. */
  readonly minutes: number;
  readonly components: readonly Component[];
  /** Absent where a project publishes no checksums: what cannot be verified is not downloaded. */
  readonly download?: (component: Component, platform: Platform) => Download;
}

const STRIP = ["-s", "-w"];

/** What is common to all that is compiled from Kubernetes' own module. */
function kubernetesModule(pin: Pin) {
  const [major, minor] = pin.version.slice(1).split(".");
  const stamp = (name: string, value: string) =>
    ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"].map((path) => `-X ${path}.${name}=${value}`);
  return {
    pin,
    module: "k8s.io/kubernetes",
    staging: true,
    // Unstamped servers report v0.0.0, and clients misjudge them.
    ldflags: [
      ...STRIP,
      ...stamp("gitVersion", pin.version),
      ...stamp("gitMajor", `${major}`),
      ...stamp("gitMinor", `${minor}`),
      ...stamp("gitTreeState", "clean"),
    ],
  };
}

function kubernetes(pin: Pin): Recipe {
  const program = (name: ComponentName, set: BinarySet, versionArguments = ["--version"]): Component => ({
    name,
    set,
    package: `k8s.io/kubernetes/cmd/${name}`,
    versionArguments,
  });
  return {
    name: "kubernetes",
    ...kubernetesModule(pin),
    minutes: 6,
    components: [
      program("kube-apiserver", "control-plane"),
      program("kube-controller-manager", "control-plane"),
      program("kube-scheduler", "control-plane"),
      program("kubectl", "control-plane", ["version", "--client"]),
      program("kubelet", "nodes"),
      program("kube-proxy", "nodes"),
    ],
    download: ({ name }, { os, arch }) => {
      const path = `/release/${pin.version}/bin/${os}/${arch}/${name}`;
      return { site: "kubernetes", path, checksum: `${path}.sha256` };
    },
  };
}

/** The end-to-end suite of one Kubernetes, what runs it side by side, and the programs of the images that it asks for. */
const conformance: Recipe = {
  name: "conformance",
  ...kubernetesModule(KUBERNETES[DEFAULT_MINOR]),
  minutes: 2,
  components: [
    {
      name: "e2e.test",
      set: "conformance",
      package: "k8s.io/kubernetes/test/e2e",
      tests: true,
      versionArguments: ["--version"],
    },
    { name: "ginkgo", set: "conformance", package: "github.com/onsi/ginkgo/v2/ginkgo" },
    { name: "agnhost", set: "conformance", package: "k8s.io/kubernetes/test/images/agnhost" },
    { name: "nonewprivs", set: "conformance", package: "k8s.io/kubernetes/test/images/nonewprivs" },
  ],
};

/** A small API server with kinds of its own, made to be aggregated. */
const sampleApiServer: Recipe = {
  name: "sample-apiserver",
  pin: SAMPLE_APISERVER,
  module: "k8s.io/sample-apiserver",
  ldflags: STRIP,
  minutes: 2,
  components: [{ name: "sample-apiserver", set: "sample-apiserver", package: "k8s.io/sample-apiserver" }],
};

const metricsServer: Recipe = {
  name: "metrics-server",
  pin: METRICS_SERVER,
  module: "sigs.k8s.io/metrics-server",
  ldflags: [...STRIP, `-X k8s.io/client-go/pkg/version.gitVersion=${METRICS_SERVER.version}`],
  minutes: 3,
  components: [
    {
      name: "metrics-server",
      set: "metrics-server",
      package: "sigs.k8s.io/metrics-server/cmd/metrics-server",
      versionArguments: ["--version"],
    },
  ],
};

const oldKubectl: Recipe = {
  name: "old-kubectl",
  ...kubernetesModule(OLD_KUBECTL),
  minutes: 2,
  components: [
    {
      name: "old-kubectl",
      set: "old-kubectl",
      package: "k8s.io/kubernetes/cmd/kubectl",
      versionArguments: ["version", "--client"],
    },
  ],
  download: (_, { os, arch }) => {
    const path = `/release/${OLD_KUBECTL.version}/bin/${os}/${arch}/kubectl`;
    return { site: "kubernetes", path, checksum: `${path}.sha256` };
  },
};

const helm: Recipe = {
  name: "helm",
  pin: HELM,
  module: "helm.sh/helm/v3",
  ldflags: [...STRIP, `-X helm.sh/helm/v3/internal/version.version=${HELM.version}`],
  minutes: 3,
  components: [
    {
      name: "helm",
      set: "helm",
      package: "helm.sh/helm/v3/cmd/helm",
      versionArguments: ["version", "--template={{.Version}}"],
    },
  ],
};

/** WireGuard as a program, for kernels without it. It has no releases that it would name itself by. */
const wireguard: Recipe = {
  name: "wireguard-go",
  pin: WIREGUARD,
  module: "golang.zx2c4.com/wireguard",
  ldflags: STRIP,
  minutes: 1,
  components: [{ name: "wireguard-go", set: "network", package: "golang.zx2c4.com/wireguard" }],
};

/** A network for pods that enforces NetworkPolicies: of its releases, those of k3s can be verified. */
const kubeRouter: Recipe = {
  name: "kube-router",
  pin: KUBE_ROUTER,
  module: "github.com/k3s-io/kube-router/v2",
  declared: "github.com/cloudnativelabs/kube-router/v2",
  ldflags: STRIP,
  minutes: 3,
  components: [
    {
      name: "kube-router",
      set: "kube-router",
      package: "github.com/cloudnativelabs/kube-router/v2/cmd/kube-router",
    },
  ],
};

const etcd: Recipe = {
  name: "etcd",
  pin: ETCD,
  module: "go.etcd.io/etcd/server/v3",
  ldflags: STRIP,
  minutes: 1,
  components: [
    { name: "etcd", set: "control-plane", package: "go.etcd.io/etcd/server/v3", versionArguments: ["--version"] },
  ],
  download: (_, { os, arch }) => {
    const folder = `etcd-${ETCD.version}-${os}-${arch}`;
    const release = `/etcd-io/etcd/releases/download/${ETCD.version}`;
    return {
      site: "github",
      path: `${release}/${folder}.tar.gz`,
      checksum: `${release}/SHA256SUMS`,
      member: `${folder}/etcd`,
    };
  },
};

const coredns: Recipe = {
  name: "coredns",
  pin: COREDNS,
  module: "github.com/coredns/coredns",
  ldflags: STRIP,
  minutes: 2,
  components: [
    { name: "coredns", set: "nodes", package: "github.com/coredns/coredns", versionArguments: ["-version"] },
  ],
  download: (_, { os, arch }) => {
    const path = `/coredns/coredns/releases/download/${COREDNS.version}/coredns_${COREDNS.version.slice(1)}_${os}_${arch}.tgz`;
    return { site: "github", path, checksum: `${path}.sha256`, member: "coredns" };
  },
};

const kwok: Recipe = {
  name: "kwok",
  pin: KWOK,
  module: "sigs.k8s.io/kwok",
  ldflags: [...STRIP, `-X sigs.k8s.io/kwok/pkg/consts.Version=${KWOK.version}`],
  minutes: 2,
  components: [
    { name: "kwok", set: "kwok", package: "sigs.k8s.io/kwok/cmd/kwok", versionArguments: ["--version"] },
    {
      // kwok refuses to start without stages; this is the file for its --config.
      name: "kwok-stages.yaml",
      set: "kwok",
      documents: ["kustomize/stage/node/fast", "kustomize/stage/node/heartbeat-with-lease", "kustomize/stage/pod/fast"],
    },
  ],
};

/** A recipe and those of its components that are wanted. `minor` is absent where one version serves every Kubernetes. */
export interface Want {
  readonly recipe: Recipe;
  readonly components: readonly Component[];
  readonly minor?: KubernetesMinor;
}

/** The recipes that together yield `sets` for each of `minors`, cheapest first. */
export function wanted(minors: readonly KubernetesMinor[], sets: readonly BinarySet[]): Want[] {
  const all: Want[] = [
    etcd,
    wireguard,
    coredns,
    kwok,
    sampleApiServer,
    metricsServer,
    oldKubectl,
    helm,
    kubeRouter,
  ].map((recipe) => ({
    recipe,
    components: recipe.components,
  }));
  for (const minor of new Set(minors)) {
    const recipe = kubernetes(KUBERNETES[minor]);
    all.push({ recipe, components: recipe.components, minor });
  }
  // After the Kubernetes whose packages it shares.
  all.push({ recipe: conformance, components: conformance.components });
  return all
    .map((want) => ({ ...want, components: want.components.filter(({ set }) => sets.includes(set)) }))
    .filter(({ components }) => components.length > 0);
}

/** What a reader calls it: `Kubernetes v1.36.3`. */
export function title({ name, pin }: Recipe): string {
  const names: Readonly<Record<string, string>> = {
    kubernetes: "Kubernetes",
    conformance: "the end-to-end suite of Kubernetes",
    coredns: "CoreDNS",
    helm: "Helm",
    "old-kubectl": "an old kubectl,",
  };
  return `${names[name] ?? name} ${pin.version}`;
}
