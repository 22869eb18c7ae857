import type { ImageStatus, ImageStore, RegistryCredentials } from "../../runtime/index.ts";
import type { CriClient } from "./cri-client.ts";
import { CriCallFailed } from "./errors.ts";
import { grpcStatus } from "./grpc/grpc-status.ts";
import type { Init } from "./proto/message.ts";
import { type AuthConfig, type Image, ImageService } from "./proto/messages.ts";

/** A large image over a slow line takes long; a pull that makes no progress is given up by the runtime itself. */
const PULL_TIMEOUT = 60 * 60_000;

/** The images that a container runtime holds. */
export class CriImages implements ImageStore {
  readonly #client: CriClient;

  constructor(client: CriClient) {
    this.#client = client;
  }

  async status(image: string, signal?: AbortSignal): Promise<ImageStatus | undefined> {
    const answer = await this.#client.call(
      ImageService.imageStatus,
      { image: { image } },
      { action: `look for the image ${image}`, ...(signal && { signal }) },
    );
    return answer.image && imageStatus(answer.image);
  }

  async pull(image: string, credentials: readonly RegistryCredentials[], signal?: AbortSignal): Promise<string> {
    let failure: unknown;
    for (const each of credentials.length === 0 ? [undefined] : credentials) {
      try {
        return await this.#pull(image, each, signal);
      } catch (error) {
        if (!(error instanceof CriCallFailed)) throw error;
        failure = error;
      }
    }
    throw failure;
  }

  async list(signal?: AbortSignal): Promise<ImageStatus[]> {
    const options = { action: "list images", ...(signal && { signal }) };
    const { images } = await this.#client.call(ImageService.listImages, {}, options);
    return images.map(imageStatus);
  }

  async remove(id: string, signal?: AbortSignal): Promise<void> {
    const options = { action: `remove the image ${id}`, ...(signal && { signal }) };
    try {
      await this.#client.call(ImageService.removeImage, { image: { image: id } }, options);
    } catch (error) {
      if (error instanceof CriCallFailed && error.status === grpcStatus.notFound) return;
      throw error;
    }
  }

  async fileSystem(signal?: AbortSignal): Promise<{ mountpoint: string; usedBytes: number; inodesUsed: number }> {
    const options = { action: "measure the images", ...(signal && { signal }) };
    const { imageFilesystems } = await this.#client.call(ImageService.imageFsInfo, {}, options);
    const [first] = imageFilesystems;
    return {
      mountpoint: first?.fsId?.mountpoint ?? "",
      usedBytes: Number(first?.usedBytes?.value ?? 0n),
      inodesUsed: Number(first?.inodesUsed?.value ?? 0n),
    };
  }

  async #pull(image: string, credentials: RegistryCredentials | undefined, signal?: AbortSignal): Promise<string> {
    const { imageRef } = await this.#client.call(
      ImageService.pullImage,
      { image: { image }, ...(credentials && { auth: authentication(credentials) }) },
      { action: `pull the image ${image}`, timeout: PULL_TIMEOUT, ...(signal && { signal }) },
    );
    return imageRef;
  }
}

/**
 * Without the server's address: they were chosen for this image's registry, and containerd would only use them where the
 * address is a URL of the very host that it asks, which the addresses of pull secrets seldom are.
 */
function authentication(credentials: RegistryCredentials): Init<AuthConfig> {
  const { username = "", password = "", identityToken = "", registryToken = "" } = credentials;
  return { username, password, identityToken, registryToken };
}

function imageStatus(image: Image): ImageStatus {
  return {
    id: image.id,
    tags: image.repoTags,
    digests: image.repoDigests,
    size: Number(image.size),
    ...(image.uid !== undefined && { uid: Number(image.uid.value) }),
    ...(image.username !== "" && { userName: image.username }),
    pinned: image.pinned,
  };
}
