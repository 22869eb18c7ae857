import { CONSUMER_LABEL, MANAGED_LABEL, type ShadowPod } from "@fjord/api";
import { ConfigMap, isNotFound, type KubeClient, type Pod, Secret } from "@fjord/kube";
import type { Home } from "../../home.ts";
import { HOME_CA_CONFIG_MAP, wantedTokens, wantsHomeAuthority } from "./forge/index.ts";

/** What a pod has been brought. */
interface Kept {
  /** Uid of the ShadowPod that it was brought to: what another one of the pod finds is nothing, or what is about to go with the first. */
  readonly shadow: string;
  /** When its tokens are to be renewed. */
  readonly due: number;
}

const FIELD_MANAGER = "fjord-pods";
/** Of a token's life; kubelets renew theirs at the same time. */
const RENEWED_AT = 0.8;
const SOONEST_MS = 10_000;

/**
 * Brings tokens of service accounts to pods elsewhere that ask for them, and newer ones in time. They are bound to the
 * pod at home and die with it; the Secrets that carry them are the ShadowPod's and go with it.
 */
export class PodTokens {
  readonly #home: Pick<Home, "client" | "clock" | "identity">;
  /** By uid of the pod. */
  readonly #kept = new Map<string, Kept>();

  constructor(home: Pick<Home, "client" | "clock" | "identity">) {
    this.#home = home;
  }

  forget(uid: string): void {
    this.#kept.delete(uid);
  }

  /** Milliseconds until this is to be called again; undefined for a pod that wants nothing. */
  async keep(
    pod: Pod,
    shadow: ShadowPod,
    client: KubeClient,
    work: { readonly signal: AbortSignal },
  ): Promise<number | undefined> {
    const wanted = wantedTokens(pod);
    const wantsAuthority = wantsHomeAuthority(pod);
    if (wanted.length === 0 && !wantsAuthority) return undefined;
    const { clock, client: own } = this.#home;
    const { uid = "" } = pod.metadata;
    const { namespace: twin = "", uid: shadowUid = "" } = shadow.metadata;
    const known = this.#kept.get(uid);
    const isNew = known?.shadow !== shadowUid;
    const left = isNew ? 0 : known.due - clock.now();
    if (left > 0) return wanted.length === 0 ? undefined : left;
    if (isNew && wantsAuthority) await this.#bringAuthority(pod, twin, client, work.signal);
    const ends = await Promise.all(wanted.map((token) => this.#bring(token, pod, shadow, client, work.signal)));
    // By the clock that dated them.
    const life = Math.min(...ends) - own.serverClock.now();
    const next = Math.max(SOONEST_MS, life * RENEWED_AT);
    this.#kept.set(uid, { shadow: shadowUid, due: clock.now() + next });
    return wanted.length === 0 ? undefined : next;
  }

  /** Takes the pod's tokens back. Whatever is not reached here goes with the ShadowPod, a little later. */
  async takeBack(pod: Pod, twin: string, client: KubeClient, signal: AbortSignal): Promise<void> {
    await Promise.all(
      wantedTokens(pod).map(async ({ secret }) => {
        try {
          await client.delete(Secret, { name: secret, namespace: twin }, { signal });
        } catch (error) {
          if (!isNotFound(error)) throw error;
        }
      }),
    );
  }

  /** Gives when the token ends. */
  async #bring(
    { secret, audience, expirationSeconds }: ReturnType<typeof wantedTokens>[number],
    pod: Pod,
    { apiVersion, kind, metadata: { name = "", namespace = "", uid = "" } }: ShadowPod,
    client: KubeClient,
    signal: AbortSignal,
  ): Promise<number> {
    const { namespace: home = "", name: podName = "", uid: podUid = "" } = pod.metadata;
    const account = { namespace: home, name: pod.spec?.serviceAccountName ?? "default" };
    const boundObject = { kind: "Pod", apiVersion: "v1", name: podName, uid: podUid } as const;
    const audiences = audience === undefined ? {} : { audiences: [audience] };
    const issued = await this.#home.client.createToken(account, {
      ...audiences,
      expirationSeconds,
      boundObject,
      signal,
    });
    const object = {
      metadata: {
        name: secret,
        namespace,
        labels: { [CONSUMER_LABEL]: this.#home.identity.id, [MANAGED_LABEL]: "pods" },
        ownerReferences: [{ apiVersion, kind, name, uid }],
      },
      type: "Opaque",
      data: { token: Buffer.from(issued.token).toString("base64") },
    };
    await client.apply(Secret, object, { fieldManager: FIELD_MANAGER, force: true, signal });
    return Date.parse(issued.expirationTimestamp);
  }

  async #bringAuthority(pod: Pod, twin: string, client: KubeClient, signal: AbortSignal): Promise<void> {
    const { namespace = "" } = pod.metadata;
    const { data } = await this.#home.client.get(ConfigMap, { name: "kube-root-ca.crt", namespace }, { signal });
    const labels = { [CONSUMER_LABEL]: this.#home.identity.id, [MANAGED_LABEL]: "pods" };
    const object = { metadata: { name: HOME_CA_CONFIG_MAP, namespace: twin, labels }, data: data ?? {} };
    await client.apply(ConfigMap, object, { fieldManager: FIELD_MANAGER, force: true, signal });
  }
}
