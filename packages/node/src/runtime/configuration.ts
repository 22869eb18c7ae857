import type { ContainerResources } from "./resources.ts";
import type { PodIdentity } from "./runtime.ts";

/** What a runtime needs to know of a pod. Forged from the pod by pure functions; never read back. */
export interface SandboxConfig {
  readonly pod: PodIdentity;
  readonly attempt: number;
  readonly labels: Readonly<Record<string, string>>;
  /** Kept by the runtime and given back by `list`. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly hostname: string;
  /** Absent on the host's own settings (`dnsPolicy: Default`). */
  readonly dns?: { servers: readonly string[]; searches: readonly string[]; options: readonly string[] };
  /** Folder for the log files of its containers. */
  readonly logDirectory: string;
  /** Working files of the pod, volumes among them: `pods/<uid>` in the node's state directory. */
  readonly podDirectory: string;
  readonly ports: readonly PortMapping[];
  /** `handler` of the pod's RuntimeClass; empty for the default. */
  readonly runtimeHandler: string;
  /** Control group that all of the pod goes below: `/kubepods/burstable/pod<uid>` under the node's root. */
  readonly cgroupParent: string;
  /** Limits of the pod as a whole, where it has such. */
  readonly resources?: ContainerResources;
  readonly namespaces: PodNamespaces;
  readonly sysctls: Readonly<Record<string, string>>;
  readonly security: SecurityConfig;
}

export interface PortMapping {
  readonly protocol: "TCP" | "UDP" | "SCTP";
  readonly containerPort: number;
  readonly hostPort: number;
  readonly hostIP?: string;
}

/** Which namespaces a pod shares with the host. */
export interface PodNamespaces {
  readonly hostNetwork: boolean;
  readonly hostPid: boolean;
  readonly hostIpc: boolean;
  /** All containers see each other's processes. */
  readonly sharedPid: boolean;
  /** False where the pod has a user namespace of its own. */
  readonly hostUsers: boolean;
}

export interface ContainerConfig {
  readonly name: string;
  readonly attempt: number;
  /** As the pod names it. */
  readonly image: string;
  /** What `ImageStore.ensure` gave; empty where containers need no images. */
  readonly imageId: string;
  /** Replaces the image's entrypoint; empty keeps it. */
  readonly command: readonly string[];
  /** Replaces the image's command; empty keeps it, unless `command` is given. */
  readonly args: readonly string[];
  /** Empty: the image's. */
  readonly workingDirectory: string;
  readonly environment: readonly EnvironmentVariable[];
  readonly mounts: readonly Mount[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Below the sandbox' log directory: `<container>/<attempt>.log`. */
  readonly logPath: string;
  readonly stdin: boolean;
  readonly stdinOnce: boolean;
  readonly tty: boolean;
  readonly resources: ContainerResources;
  readonly security: SecurityConfig;
  /** Of an ephemeral container: id of the container whose processes it joins. */
  readonly targetContainer?: string;
  /** `SIGUSR1`; absent: the image's own. */
  readonly stopSignal?: string;
}

export interface EnvironmentVariable {
  readonly name: string;
  readonly value: string;
}

export interface Mount {
  readonly hostPath: string;
  readonly containerPath: string;
  readonly readOnly: boolean;
  readonly recursiveReadOnly?: boolean;
  readonly propagation?: "private" | "hostToContainer" | "bidirectional";
  /** Name of an image whose files are mounted instead of `hostPath`. */
  readonly image?: string;
  /** The part of the image that is mounted, where it is not all of it. */
  readonly imageSubPath?: string;
}

/** The pod's and the container's security contexts merged. Absent: the image's or the runtime's default. */
export interface SecurityConfig {
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  /** A user by name, of the image. */
  readonly runAsUserName?: string;
  readonly supplementalGroups: readonly number[];
  readonly supplementalGroupsPolicy?: "Merge" | "Strict";
  readonly privileged: boolean;
  readonly readOnlyRootFilesystem: boolean;
  readonly noNewPrivileges: boolean;
  readonly addCapabilities: readonly string[];
  readonly dropCapabilities: readonly string[];
  readonly seccomp: SecurityProfile;
  readonly appArmor: SecurityProfile;
  readonly seLinux?: { user: string; role: string; type: string; level: string };
  readonly unmaskedProc: boolean;
}

export type SecurityProfile =
  | { readonly type: "RuntimeDefault" | "Unconfined" }
  | { readonly type: "Localhost"; readonly profile: string };
