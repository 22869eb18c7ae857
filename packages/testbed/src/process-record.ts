import type { ProcessIdentity } from "./process-identity.ts";

/** All it takes to start a process of the test bed, and to find it again from another program. */
export interface ProcessRecord {
  /** Such as `kube-apiserver`; unique within its site. */
  readonly name: string;
  /** The site it belongs to; empty for what serves the whole bed. */
  readonly site: string;
  readonly file: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Where its standard output and error go, appended. */
  readonly log: string;
  /** The process as last started; absent before the first start and after a stop. */
  readonly identity?: ProcessIdentity;
}

/**
 * Something outside the run directory that a bed made and that has to go with it. Recorded before it is made. Its name
 * begins with `fj` and the id of the bed.
 */
export type Resource =
  /** A network interface of the host's. */
  | { readonly kind: "link"; readonly id: string }
  /** A control group, as its directory: whatever runs in it is killed. */
  | { readonly kind: "cgroup"; readonly id: string };
