import type { Caller } from "../cluster.ts";

/** Who a service account is to authorisation. */
export function serviceAccountCaller(
  namespace: string,
  name: string,
  uid?: string,
  extra: Record<string, readonly string[]> = {},
): Caller {
  return {
    user: `system:serviceaccount:${namespace}:${name}`,
    ...(uid !== undefined && { uid }),
    groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`],
    ...(Object.keys(extra).length > 0 && { extra }),
  };
}

/** The service account that a user name stands for; undefined for other users. */
export function serviceAccountOf(user: string): { namespace: string; name: string } | undefined {
  const [, namespace, name] = /^system:serviceaccount:([a-z0-9.-]+):([a-z0-9.-]+)$/.exec(user) ?? [];
  return namespace !== undefined && name !== undefined ? { namespace, name } : undefined;
}
