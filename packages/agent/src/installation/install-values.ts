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
};
