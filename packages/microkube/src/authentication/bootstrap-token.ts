import { timingSafeEqual } from "node:crypto";
import type { Secret } from "@fjord/kube";
import type { Cluster } from "../cluster.ts";
import { find } from "../cluster-objects.ts";
import type { TokenAuthenticator } from "./token-authenticator.ts";

const form = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
const extraGroup = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;

/** Tokens that new nodes join with: Secrets `bootstrap-token-<id>` in kube-system. */
export function bootstrapTokens(cluster: Cluster): TokenAuthenticator {
  return {
    authenticateToken(token) {
      const [, id, value] = form.exec(token) ?? [];
      if (id === undefined || value === undefined) return undefined;
      const secret = find<Secret>(cluster, "Secret", "kube-system", `bootstrap-token-${id}`);
      const groups = secret && groupsOf(secret, id, value, cluster.clock.now());
      return groups && { caller: { user: `system:bootstrap:${id}`, groups } };
    },
  };
}

function groupsOf(secret: Secret, id: string, value: string, now: number): string[] | undefined {
  const of = (key: string) => Buffer.from(secret.data?.[key] ?? "", "base64").toString("utf8");
  if (secret.metadata.deletionTimestamp || secret.type !== "bootstrap.kubernetes.io/token") return undefined;
  const expected = Buffer.from(of("token-secret"));
  if (expected.length !== value.length || !timingSafeEqual(expected, Buffer.from(value))) return undefined;
  if (of("token-id") !== id || of("usage-bootstrap-authentication") !== "true") return undefined;
  const expiration = of("expiration");
  // What is no time counts as past.
  if (expiration !== "" && !(Date.parse(expiration) > now)) return undefined;
  const extra = of("auth-extra-groups")
    .split(",")
    .filter((group) => group !== "");
  if (!extra.every((group) => extraGroup.test(group))) return undefined;
  return [...new Set(["system:bootstrappers", ...extra])].sort();
}
