import { type Clock, describeError, onAbort } from "@fjord/base";
import type { Secret } from "@fjord/kube";
import type { ImageStatus, ImageStore, RegistryCredentials } from "../../runtime/index.ts";
import { CallLimit } from "../worker/call-limit.ts";
import { StartProblem } from "../worker/start-problem.ts";
import { defaultPullPolicy, parseImage } from "./image-reference.ts";
import { credentialsFor } from "./registry-credentials.ts";

export interface ImageWish {
  readonly images: ImageStore;
  /** As the pod names it. */
  readonly image: string;
  readonly policy?: string;
  readonly secrets: () => Promise<readonly Secret[]>;
  /** Told what an operator would want to know. */
  readonly say: (type: "Normal" | "Warning", reason: string, message: string) => void;
  readonly signal: AbortSignal;
}

interface Pull {
  readonly result: Promise<string>;
  readonly controller: AbortController;
  waiting: number;
}

/** Sees to it that images are there. Pods that want the same one at the same time wait for one pull. */
export class ImagePuller {
  readonly #clock: Clock;
  readonly #limit: CallLimit;
  readonly #pulls = new Map<ImageStore, Map<string, Pull>>();

  constructor(options: { clock: Clock; parallel?: number }) {
    this.#clock = options.clock;
    this.#limit = new CallLimit(options.parallel ?? 5);
  }

  /** The image's status once it is there; throws a `StartProblem`. */
  async ensure(wish: ImageWish): Promise<ImageStatus> {
    const name = withTag(wish.image);
    const present = await this.#inspect(wish, name);
    const policy = wish.policy ?? defaultPullPolicy(wish.image);
    if (present !== undefined && policy !== "Always") {
      const access = "and can be accessed by the pod";
      wish.say("Normal", "Pulled", `Container image "${wish.image}" already present on machine ${access}`);
      return present;
    }
    if (policy === "Never") {
      const message = `Container image "${wish.image}" is not present with pull policy of Never`;
      wish.say("Warning", "ErrImageNeverPull", message);
      throw new StartProblem("ErrImageNeverPull", message);
    }
    return this.#pull(wish, name);
  }

  async #inspect({ images, image, say, signal }: ImageWish, name: string): Promise<ImageStatus | undefined> {
    try {
      return await images.status(name, signal);
    } catch (error) {
      const message = `Failed to inspect image "${image}": ${describeError(error)}`;
      say("Warning", "InspectFailed", message);
      throw new StartProblem("ImageInspectError", message, undefined, { cause: error });
    }
  }

  async #pull(wish: ImageWish, name: string): Promise<ImageStatus> {
    const { images, image, say, signal } = wish;
    const began = this.#clock.now();
    say("Normal", "Pulling", `Pulling image "${image}"`);
    try {
      const id = await this.#shared(images, name, credentialsFor(name, await wish.secrets()), signal);
      const status = (await images.status(name, signal)) ?? (await images.status(id, signal));
      if (status === undefined) throw new Error(`image "${image}" was pulled but is not there`);
      const took = `${((this.#clock.now() - began) / 1000).toFixed(3)}s`;
      const size = `Image size: ${status.size} bytes.`;
      say("Normal", "Pulled", `Successfully pulled image "${image}" in ${took} (${took} including waiting). ${size}`);
      return status;
    } catch (error) {
      if (signal.aborted) throw error;
      const reason = describeError(error);
      say("Warning", "Failed", `Failed to pull image "${image}": ${reason}`);
      const later = {
        reason: "ImagePullBackOff",
        message: `Back-off pulling image "${image}": ErrImagePull: ${reason}`,
      };
      throw new StartProblem("ErrImagePull", reason, later, { cause: error });
    }
  }

  /** Joins a pull that is under way, and ends it when nobody waits for it any more. */
  async #shared(
    images: ImageStore,
    name: string,
    credentials: readonly RegistryCredentials[],
    signal: AbortSignal,
  ): Promise<string> {
    const pulls = this.#pulls.get(images) ?? new Map<string, Pull>();
    this.#pulls.set(images, pulls);
    // Whoever has other credentials must not get in by those of another.
    const key = JSON.stringify([name, credentials]);
    const pull = pulls.get(key) ?? this.#begin(images, name, credentials, () => pulls.delete(key));
    pulls.set(key, pull);
    pull.waiting++;
    const gaveUp = Promise.withResolvers<never>();
    const release = onAbort(signal, () => gaveUp.reject(signal.reason));
    try {
      return await Promise.race([pull.result, gaveUp.promise]);
    } finally {
      release();
      if (--pull.waiting === 0) pull.controller.abort();
    }
  }

  #begin(images: ImageStore, name: string, credentials: readonly RegistryCredentials[], done: () => void): Pull {
    const controller = new AbortController();
    const { signal } = controller;
    const result = this.#limit.run(() => {
      signal.throwIfAborted();
      return images.pull(name, credentials, signal);
    });
    result.then(done, done);
    return { result, controller, waiting: 0 };
  }
}

function withTag(image: string): string {
  const reference = parseImage(image);
  if (reference === undefined) {
    const why = `couldn't parse image name "${image}": invalid reference format`;
    throw new StartProblem("InvalidImageName", `Failed to apply default image tag "${image}": ${why}`);
  }
  return reference.tag === undefined && reference.digest === undefined ? `${image}:latest` : image;
}
