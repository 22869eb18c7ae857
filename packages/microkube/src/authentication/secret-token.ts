import type { Secret } from "@fjord/kube";
import type { Caller, Cluster } from "../cluster.ts";
import { find } from "../cluster-objects.ts";
import { serviceAccountCaller } from "./service-account-caller.ts";

export const LEGACY_ISSUER = "kubernetes/serviceaccount";

/** A token that lies in a Secret holds as long as the Secret is there and has it; throws an `Error` otherwise. */
export function checkSecretToken(cluster: Cluster, token: string, claims: Record<string, unknown>): Caller {
  const of = (name: string) => String(claims[`kubernetes.io/serviceaccount/${name}`] ?? "");
  const namespace = of("namespace");
  const [secretName, accountName, uid] = [of("secret.name"), of("service-account.name"), of("service-account.uid")];
  const secret = find<Secret>(cluster, "Secret", namespace, secretName);
  if (secret === undefined || secret.metadata.deletionTimestamp) throw new Error("Token has been invalidated");
  if (Buffer.from(secret.data?.token ?? "", "base64").toString("utf8") !== token) {
    throw new Error("Token does not match server's copy");
  }
  const account = find(cluster, "ServiceAccount", namespace, accountName);
  if (account === undefined) throw new Error(`serviceaccounts "${accountName}" not found`);
  if (account.metadata.deletionTimestamp) {
    throw new Error(`ServiceAccount ${namespace}/${accountName} has been deleted`);
  }
  if (account.metadata.uid !== uid) {
    throw new Error(`ServiceAccount UID (${account.metadata.uid}) does not match claim (${uid})`);
  }
  return serviceAccountCaller(namespace, accountName, uid);
}
