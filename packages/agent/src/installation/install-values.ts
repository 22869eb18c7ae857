import type { GuestPrivilege } from "@fjord/api";
import { FJORD_VERSION } from "../version.ts";

/** What an owner may say of an installation; the same names in the chart's values and in a file for `fjord init --values`. */
export interface InstallValues {
  /** Name of the own Site; empty: one made of its id. */
  readonly siteName: string;
  /** `cloud`, `edge` or `device`; empty: not said. */
  readonly tier: string;
  /** Where other agents reach this one; none: it dials out. */
  readonly endpoints: readonly string[];
  readonly image: { readonly repository: string; readonly tag: string; readonly pullPolicy: string };
  readonly imagePullSecrets: readonly { readonly name: string }[];
  readonly replicas: number;
  readonly service: { readonly type: string; readonly port: number };
  readonly networkPolicy: { readonly enabled: boolean };
  readonly resources: object;
  readonly nodeSelector: Readonly<Record<string, string>>;
  readonly tolerations: readonly object[];
  readonly guestPrivileges: readonly GuestPrivilege[];
  /** More options of `fjord-agent run`. */
  readonly extraArgs: readonly string[];
  readonly crds: { readonly install: boolean };
  /** What carries links to peers' pods, on nodes' own networks. */
  readonly gateway: {
    readonly enabled: boolean;
    /** Nodes with this label may carry links; empty: all may. */
    readonly nodeLabel: string;
    /** Where peers reach the node that does; empty: as `spec.network` of the Site says. */
    readonly endpoint: string;
    /** Whether they serve metrics on their node's address, too. */
    readonly metrics: { readonly enabled: boolean };
    readonly resources: object;
    readonly tolerations: readonly object[];
    /** More options of `fjord-agent gateway run`. */
    readonly extraArgs: readonly string[];
  };
}

export const defaultValues: InstallValues = {
  siteName: "",
  tier: "",
  endpoints: [],
  image: { repository: "fjord/fjord", tag: FJORD_VERSION, pullPolicy: "IfNotPresent" },
  imagePullSecrets: [],
  replicas: 1,
  service: { type: "ClusterIP", port: 7443 },
  networkPolicy: { enabled: true },
  resources: { requests: { cpu: "50m", memory: "128Mi" }, limits: { memory: "512Mi" } },
  nodeSelector: {},
  tolerations: [],
  guestPrivileges: [],
  extraArgs: [],
  crds: { install: true },
  gateway: {
    enabled: false,
    nodeLabel: "",
    endpoint: "",
    // Whoever reaches the node would read there who the peers are, guests too.
    metrics: { enabled: false },
    resources: { requests: { cpu: "20m", memory: "96Mi" }, limits: { memory: "384Mi" } },
    tolerations: [],
    extraArgs: [],
  },
};
