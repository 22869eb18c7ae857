import type {
  ConfigMap,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  RuntimeClass,
  Secret,
  Service,
} from "@fjord/kube";

/**
 * The objects that pods refer to, as a node may see them: kept up to date while the API answers, and from the local
 * store while it does not. Undefined means that the object is known not to exist; where neither is known, it throws.
 */
export interface PodObjects {
  configMap(namespace: string, name: string, signal?: AbortSignal): Promise<ConfigMap | undefined>;
  secret(namespace: string, name: string, signal?: AbortSignal): Promise<Secret | undefined>;
  claim(namespace: string, name: string, signal?: AbortSignal): Promise<PersistentVolumeClaim | undefined>;
  persistentVolume(name: string, signal?: AbortSignal): Promise<PersistentVolume | undefined>;
  runtimeClass(name: string, signal?: AbortSignal): Promise<RuntimeClass | undefined>;
  /** Those that a pod of the namespace gets environment variables for: its own namespace's, and `kubernetes`. */
  services(namespace: string): Promise<readonly Service[]>;
  /** A token bound to the pod, from the local store until four fifths of its life are over. */
  token(pod: Pod, request: TokenRequestSpec, signal?: AbortSignal): Promise<BoundToken>;

  /** Keeps what the pod refers to up to date from now on; to be called again when the pod has changed. */
  follow(pod: Pod): void;
  /** Forgets it, with its tokens. */
  forget(podUid: string): void;
  /** Tells the uid of each pod to which a change of an object matters. The function returned ends it. */
  onChange(listener: (podUid: string) => void): () => void;
}

export interface TokenRequestSpec {
  /** Empty: the API server's own. */
  readonly audience: string;
  readonly expirationSeconds: number;
}

export interface BoundToken {
  readonly token: string;
  readonly expiresAt: number;
  /** When it should be replaced. */
  readonly refreshAt: number;
}
