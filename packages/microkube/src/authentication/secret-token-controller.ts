import { done, ifNotFound, type Result, Secret, ServiceAccount, watches } from "@fjord/kube";
import type { ControlLoop } from "../controllers/control-loop.ts";
import { Loop } from "../controllers/loop.ts";
import type { ServiceAccountTokens } from "./service-account-token.ts";

const TYPE = "kubernetes.io/service-account-token";
const NAME = "kubernetes.io/service-account.name";
const UID = "kubernetes.io/service-account.uid";

/** What a Secret for a service account's token should be; "gone" where its account is; undefined where it is right. */
export function filledSecret(
  secret: Secret,
  account: ServiceAccount | undefined,
  { rootCa, issue }: { rootCa: string; issue: (account: ServiceAccount, secretName: string) => string },
): Secret | "gone" | undefined {
  const { name = "", namespace = "", annotations = {} } = secret.metadata;
  const { uid } = account?.metadata ?? {};
  const isOther = annotations[UID] !== undefined && annotations[UID] !== uid;
  if (account === undefined || isOther) return "gone";
  const encode = (text: string) => Buffer.from(text).toString("base64");
  const data = { ...secret.data };
  data["ca.crt"] = encode(rootCa);
  data.namespace = encode(namespace);
  if (!data.token) data.token = encode(issue(account, name));
  const isRight =
    annotations[UID] === uid &&
    ["ca.crt", "namespace", "token"].every((key) => secret.data?.[key] === data[key as keyof typeof data]);
  if (isRight) return undefined;
  const metadata = { ...secret.metadata, annotations: { ...annotations, ...(uid !== undefined && { [UID]: uid }) } };
  return { ...secret, metadata, data };
}

export interface SecretTokenOptions {
  readonly tokens: ServiceAccountTokens;
  /** The cluster's authority, in PEM. */
  readonly rootCa: string;
}

/** Fills Secrets of type kubernetes.io/service-account-token, and removes those whose account is gone. */
export function secretTokenController({ tokens, rootCa }: SecretTokenOptions): ControlLoop {
  return (means) => {
    const { client } = means;
    const loop = new Loop(means, "serviceaccount-token");
    const accounts = loop.open(ServiceAccount);
    const secrets = loop.open(Secret);
    const issue = (account: ServiceAccount, secretName: string) => tokens.issueForSecret(account, secretName);

    const reconcile = async (key: { name: string; namespace?: string }, signal: AbortSignal): Promise<Result> => {
      const secret = secrets.get(key);
      const { name = "", namespace = "" } = secret?.metadata ?? {};
      const owner = secret?.metadata.annotations?.[NAME];
      if (secret?.type !== TYPE || owner === undefined || secret.metadata.deletionTimestamp) return done();
      const account = accounts.get({ name: owner, namespace });
      const wanted = filledSecret(secret, account, { rootCa, issue });
      if (wanted === undefined) return done();
      if (wanted !== "gone") {
        await client.update(Secret, wanted, { signal });
        return done();
      }
      const { uid, resourceVersion } = secret.metadata;
      const preconditions = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) };
      await client.delete(Secret, { name, namespace }, { preconditions, signal }).catch(ifNotFound);
      return done();
    };

    const ofAccount = (account: ServiceAccount) =>
      secrets
        .list()
        .filter(
          ({ type, metadata }) =>
            type === TYPE &&
            metadata.namespace === account.metadata.namespace &&
            metadata.annotations?.[NAME] === account.metadata.name,
        )
        .map(({ metadata: { name = "", namespace = "" } }) => ({ name, namespace }));

    return loop.reconciles({
      sources: [watches(secrets), watches(accounts, ofAccount)],
      reconcile: (request, { signal }) => reconcile(request, signal),
    });
  };
}
