import type { Caller, Cluster } from "../cluster.ts";
import type { Attributes, Authorizer, Decision } from "./authorizer.ts";
import { NodeAuthorizer } from "./node-authorizer.ts";
import { NodeReferences } from "./node-references.ts";
import { RbacAuthorizer } from "./rbac-authorizer.ts";
import { RoleIndex } from "./role-index.ts";

/** Everybody in it may do everything: the way in where no role is there yet. */
export const MASTERS = "system:masters";

const YES: Decision = { allowed: true, reason: "" };

/** Masters may do everything, kubelets what their pods need, and all what roles give them. */
export class ClusterAuthorizer implements Authorizer {
  readonly roles = new RoleIndex();
  readonly #nodes: NodeAuthorizer;
  readonly #rbac = new RbacAuthorizer(this.roles);
  readonly #references: NodeReferences;
  readonly #cluster: Cluster;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
    this.#references = new NodeReferences(cluster);
    this.#nodes = new NodeAuthorizer({ cluster, references: this.#references, roles: this.roles });
  }

  /** Begins to follow roles, bindings and pods; returns what ends it. */
  follow(): () => void {
    const ends = [this.roles.follow(this.#cluster), this.#references.follow()];
    return () => {
      for (const end of ends) end();
    };
  }

  authorize(caller: Caller, attributes: Attributes): Decision {
    if (caller.groups.includes(MASTERS)) return YES;
    const node = this.#nodes.authorize(caller, attributes);
    if (node?.allowed) return node;
    const rbac = this.#rbac.authorize(caller, attributes);
    if (rbac.allowed || !node?.reason) return rbac;
    return { allowed: false, reason: rbac.reason === "" ? node.reason : `${node.reason}\n${rbac.reason}` };
  }
}
