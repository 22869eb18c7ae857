/** The images of a machine. */
export interface ImageStore {
  /** Undefined where it is not there. */
  status(image: string, signal?: AbortSignal): Promise<ImageStatus | undefined>;
  /** Fetches an image; gives its id. The first credentials that the registry takes are used. */
  pull(image: string, credentials: readonly RegistryCredentials[], signal?: AbortSignal): Promise<string>;
  list(signal?: AbortSignal): Promise<ImageStatus[]>;
  remove(id: string, signal?: AbortSignal): Promise<void>;
  /** Where images are, and how full that is. */
  fileSystem(signal?: AbortSignal): Promise<{ mountpoint: string; usedBytes: number; inodesUsed: number }>;
}

export interface ImageStatus {
  readonly id: string;
  readonly tags: readonly string[];
  readonly digests: readonly string[];
  readonly size: number;
  /** Whom its processes run as; neither: root. */
  readonly uid?: number;
  readonly userName?: string;
  /** Never to be collected. */
  readonly pinned: boolean;
}

/** From a pod's image pull secrets. */
export interface RegistryCredentials {
  readonly username?: string;
  readonly password?: string;
  readonly identityToken?: string;
  readonly registryToken?: string;
  readonly serverAddress?: string;
}
