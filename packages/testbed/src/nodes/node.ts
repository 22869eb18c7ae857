import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { clusterConfig, kubeconfigOf } from "@fjord/kube";
import { stringify } from "yaml";
import type { NodeTools } from "../binaries/node-packages.ts";
import type { Authority } from "../certificates.ts";
import type { ManagedProcess } from "../managed-process.ts";
import type { Site } from "../site.ts";
import { type NodeNetwork, siteServer } from "../site-layout.ts";
import { createCgroups, daemonProcessFiles, type NodeCgroup } from "./cgroups.ts";
import { runCommand } from "./command.ts";
import { cniConfig, containerdConfig, streamPort } from "./containerd-config.ts";
import { importCommand } from "./image-archive.ts";
import { kubeProxyConfig } from "./kube-proxy-config.ts";
import { KUBE_ROUTER_USER, kubeRouterCni, kubeRouterCommand, type PodNetwork } from "./kube-router.ts";
import { type Kubelet, kubeletCommand, kubeletFiles } from "./kubelet-command.ts";
import { kubeletConfig } from "./kubelet-config.ts";
import type { NodePlan } from "./network-plan.ts";
import { type NodeProcess, nodeDirectory, nodeProcesses, nodeProcessName } from "./node-processes.ts";
import { enterFile, enterScript, inside, insideScript, startScript } from "./node-scripts.ts";
import type { NodeServices } from "./node-services.ts";
import type { OciImage } from "./oci-image.ts";

export interface NodeDependencies {
  readonly site: Site;
  readonly network: NodeNetwork;
  /** All nodes of the site. */
  readonly plans: readonly NodePlan[];
  readonly authority: Authority;
  readonly tools: NodeTools;
  readonly kubelet: Kubelet;
  /** More of the configuration of Kubernetes' kubelet. */
  readonly kubeletSettings: Readonly<Record<string, unknown>>;
  readonly services: NodeServices;
  readonly podNetwork: PodNetwork;
  readonly fjordProgram?: string;
  /** Files of kubelet and kube-proxy. */
  readonly programs: { readonly kubelet: string; readonly "kube-proxy": string; readonly "kube-router"?: string };
  readonly snapshotter: "overlayfs" | "native";
  readonly cgroup: NodeCgroup;
  /** Dates the certificates. */
  readonly now: number;
}

/** One real node: what of it is on the host. */
export class RealNode {
  readonly plan: NodePlan;
  readonly directory: string;
  readonly #dependencies: NodeDependencies;

  constructor(plan: NodePlan, dependencies: NodeDependencies) {
    this.plan = plan;
    this.directory = nodeDirectory(dependencies.site.layout, plan.name);
    this.#dependencies = dependencies;
  }

  get name(): string {
    return this.plan.name;
  }

  /** The names of its processes, in the order in which they start. */
  get processes(): readonly NodeProcess[] {
    const { services, podNetwork } = this.#dependencies;
    const isThere = (name: NodeProcess) =>
      (name !== "kube-proxy" || services === "kube-proxy") && (name !== "kube-router" || podNetwork === "kube-router");
    return nodeProcesses.filter(isThere);
  }

  /** One of its processes, to pause, kill and restart. */
  process(name: NodeProcess): ManagedProcess {
    return this.#dependencies.site.process(nodeProcessName(this.plan.index, name));
  }

  /** Writes everything that the node's processes read, makes its control groups and records the processes. */
  async prepare(): Promise<void> {
    const { cgroup, site, tools, services, podNetwork, fjordProgram } = this.#dependencies;
    for (const folder of ["run", "lib", "log", "etc/cni"]) {
      await mkdir(join(this.directory, folder), { recursive: true, mode: 0o700 });
    }
    for (const [file, text] of Object.entries(await this.#files())) {
      await writeFile(join(this.directory, file), text, { mode: 0o600 });
    }
    await createCgroups(cgroup);
    const path = [...new Set([...Object.values(tools.programs).map(dirname), ...usualFolders])].join(":");
    const add = (name: NodeProcess, ...args: string[]) =>
      site.addProcess({ name: nodeProcessName(this.plan.index, name), file: "/bin/sh", args, env: { PATH: path } });
    add("namespaces", join(this.directory, "start.sh"));
    add("containerd", this.#enter, tools.programs.containerd, "--config", etc("containerd.toml"));
    add(
      "kubelet",
      this.#enter,
      ...onceContainerdServes(),
      ...kubeletCommand(this.#dependencies.kubelet, {
        node: this.name,
        addresses: this.plan.addresses,
        cgroupRoot: cgroup.path,
        dnsServiceAddress: site.layout.dnsServiceAddress,
        services,
        ...(fjordProgram && { fjordProgram }),
        etc,
      }),
    );
    if (services === "kube-proxy")
      add("kube-proxy", this.#enter, inside.program("kube-proxy"), `--config=${etc("kube-proxy.yaml")}`);
    if (podNetwork === "kube-router")
      add("kube-router", this.#enter, ...kubeRouterCommand(this.plan, site.layout, etc("kube-router.kubeconfig")));
  }

  /** Starts the process that holds the namespaces; the node is there once it has written its pid. */
  async startNamespaces(): Promise<void> {
    await rm(join(this.directory, "pid"), { force: true });
    await this.process("namespaces").start();
  }

  /** As a power cut and a new start would: its pods are gone at once, and the kubelet starts them again. */
  async restart(): Promise<void> {
    for (const name of this.processes.toReversed()) await this.process(name).kill();
    for (const name of this.processes) await this.process(name).start();
  }

  /** Whether the namespaces are there to be entered. */
  get hasNamespaces(): boolean {
    return existsSync(join(this.directory, "pid"));
  }

  /** Runs a command in the node's namespaces. */
  run(command: readonly string[], what: string, options: { input?: Uint8Array; signal?: AbortSignal } = {}) {
    return runCommand("/bin/sh", [this.#enter, ...command], { what: `${what} on ${this.name}`, ...options });
  }

  /** Gives an image to the node's containerd. */
  async loadImage(image: OciImage, signal?: AbortSignal): Promise<void> {
    const { tools, snapshotter } = this.#dependencies;
    await this.run(importCommand(tools.programs.ctr, snapshotter), `load the image ${image.names.join(", ")}`, {
      input: image.archive,
      ...(signal && { signal }),
    });
  }

  get #enter(): string {
    return enterFile(this.directory);
  }

  async #files(): Promise<Record<string, string>> {
    const { site, network, plans, tools, programs, services, podNetwork, snapshotter, cgroup } = this.#dependencies;
    const router = programs["kube-router"];
    const { layout } = site;
    const needed = kubeletFiles(this.#dependencies.kubelet, programs.kubelet);
    const processFiles = daemonProcessFiles(cgroup);
    const scripts = {
      directory: this.directory,
      node: this.plan,
      nodes: plans,
      network,
      layout,
      programs: {
        ...needed.programs,
        "kube-proxy": programs["kube-proxy"],
        ...(router !== undefined && { "kube-router": router }),
      },
      hasPodNetwork: podNetwork !== "plain",
      folders: needed.folders,
      ownAddresses: services === "node" ? [layout.dnsServiceAddress] : [],
      processFiles,
    };
    const serving = { dnsNames: [this.name], addresses: this.plan.addresses, usages: ["server"] } as const;
    const certificate = await this.#issue({ commonName: this.name, ...serving });
    return {
      "start.sh": startScript(scripts),
      "inside.sh": insideScript(scripts),
      "enter.sh": enterScript(scripts),
      "etc/ca.crt": this.#dependencies.authority.certificate,
      "etc/kubelet.crt": certificate.certificate,
      "etc/kubelet.key": certificate.key,
      "etc/kubelet.kubeconfig": await this.#kubeconfig(`system:node:${this.name}`, ["system:nodes"]),
      "etc/kube-proxy.kubeconfig": await this.#kubeconfig("system:kube-proxy", []),
      "etc/containerd.toml": containerdConfig({ cniPlugins: tools.cni, cniConfiguration: etc("cni"), snapshotter }),
      "etc/cni/10-fjord.conflist": (podNetwork === "kube-router" ? kubeRouterCni : cniConfig)(this.plan.podCidrs),
      "etc/kube-router.kubeconfig": await this.#kubeconfig(KUBE_ROUTER_USER, []),
      "etc/kubelet.yaml": stringify({
        ...kubeletConfig({
          address: this.plan.addresses[0] ?? "",
          cgroupRoot: cgroup.path,
          dnsServiceAddress: layout.dnsServiceAddress,
          clientCa: etc("ca.crt"),
          certificate: etc("kubelet.crt"),
          key: etc("kubelet.key"),
        }),
        ...this.#dependencies.kubeletSettings,
      }),
      "etc/kube-proxy.yaml": stringify(
        kubeProxyConfig({ node: this.name, podCidrs: layout.podCidrs, kubeconfig: etc("kube-proxy.kubeconfig") }),
      ),
    };
  }

  async #kubeconfig(commonName: string, organizations: readonly string[]): Promise<string> {
    const { authority, site } = this.#dependencies;
    const pair = await this.#issue({ commonName, organizations, usages: ["client"] });
    const server = siteServer(site.layout);
    const config = clusterConfig({ server, ca: authority.certificate, cert: pair.certificate, key: pair.key });
    return kubeconfigOf(config, site.name);
  }

  #issue(request: Parameters<Authority["issue"]>[0]) {
    return this.#dependencies.authority.issue(request, this.#dependencies.now);
  }
}

const usualFolders = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/** Put before the kubelet's command: it gives up where containerd does not serve yet, as while both start again. */
function onceContainerdServes(): string[] {
  const listening = ` 0100007F:${streamPort.toString(16).toUpperCase().padStart(4, "0")} 00000000:0000 0A `;
  return ["sh", "-c", 'until grep -q "$0" /proc/net/tcp; do sleep 0.1; done; exec "$@"', listening];
}

/** A file of the node's `etc`, as the node sees it. */
function etc(file: string): string {
  return `${inside.directory}/etc/${file}`;
}
