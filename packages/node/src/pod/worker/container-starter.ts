import { chmod, mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { backoffDelay, describeError } from "@fjord/base";
import type { Pod, Secret } from "@fjord/kube";
import { resolveEnvironment } from "../../environment/environment.ts";
import type { ImageStatus, ImageStore, Mount } from "../../runtime/index.ts";
import { deviceObjections } from "../../volumes/volume-objections.ts";
import { forgeContainer } from "../forge/container-forge.ts";
import { forgeSandbox } from "../forge/sandbox-forge.ts";
import { rootProblem } from "../image/non-root.ts";
import { isAlive, newest } from "../observed-pod.ts";
import type { PodAction, Waiting } from "../plan/pod-plan.ts";
import { containerOf, type PodContainer, podFields, uidOf } from "../pod-containers.ts";
import { podDirectory, terminationMessageFile } from "../pod-directory.ts";
import { type Say, sayer, type WorkerContext } from "./pod-services.ts";
import { asStartProblem, retryDelays, StartProblem, UNSUPPORTED } from "./start-problem.ts";
import type { VolumeKeeper } from "./volume-keeper.ts";

/** Runs once the process has been started, and before anything may rely on it. */
export type AfterStart = (container: PodContainer, id: string, signal: AbortSignal) => Promise<void>;

export type StartAction = Extract<PodAction, { do: "start" }>;

interface Failure {
  readonly problem: StartProblem;
  readonly count: number;
  readonly at: number;
  readonly retryAt: number;
  /** Whether it was told that the status has passed to what is waited for. */
  isBackOffTold: boolean;
}

/** When a status passes from what went wrong to what is waited for. */
const LATER_MS = 2_000;

/** Starts the containers of one pod, one after the other as they are listed. */
export class ContainerStarter {
  readonly #context: WorkerContext;
  readonly #say: Say;
  readonly #volumes: VolumeKeeper;
  readonly #afterStart: AfterStart;
  readonly #starting = new Set<string>();
  readonly #failures = new Map<string, Failure>();
  #lane: Promise<void> = Promise.resolve();
  #controller = new AbortController();

  constructor(context: WorkerContext, volumes: VolumeKeeper, afterStart: AfterStart) {
    this.#context = context;
    this.#volumes = volumes;
    this.#say = sayer(context, context.pod);
    this.#afterStart = afterStart;
  }

  /** Names of those under way. */
  get starting(): ReadonlySet<string> {
    return this.#starting;
  }

  retryTimes(): Map<string, number> {
    return new Map([...this.#failures].map(([name, { retryAt }]) => [name, retryAt]));
  }

  /** Why containers wait, by name. */
  waiting(now: number): Map<string, Waiting> {
    return new Map(
      [...this.#failures].map(([name, { problem, at }]) => {
        const { later, reason, message } = problem;
        return [name, later !== undefined && now - at >= LATER_MS ? later : { reason, message }];
      }),
    );
  }

  start(action: StartAction): void {
    const { name } = action.container;
    this.#starting.add(name);
    const signal = AbortSignal.any([this.#controller.signal, this.#context.signal]);
    this.#lane = this.#lane.then(async () => {
      await this.#attempt(action, signal);
      // Until a list shows what was made, another look would make it again.
      void this.#context.view.refresh().then(() => {
        this.#starting.delete(name);
        this.#context.wake();
      });
    });
  }

  /** Gives up whatever is under way: the pod is to end. */
  cancel(): void {
    this.#controller.abort();
    this.#controller = new AbortController();
    this.#failures.clear();
  }

  /** Something that a start may have failed for has changed. */
  retryNow(): void {
    for (const [name, failure] of this.#failures) {
      if (failure.problem.later === undefined) this.#failures.set(name, { ...failure, retryAt: 0 });
    }
  }

  async #attempt(action: StartAction, signal: AbortSignal): Promise<void> {
    const { name } = action.container;
    try {
      signal.throwIfAborted();
      const id = await this.#make(action, signal);
      this.#failures.delete(name);
      await this.#afterStart(action.container, id, signal);
    } catch (error) {
      if (!signal.aborted) this.#fail(name, error);
    }
  }

  #fail(name: string, error: unknown): void {
    const { clock, random, logger, pod, wakeAt } = this.#context;
    const problem = asStartProblem(error);
    const before = this.#failures.get(name);
    const count = (before?.count ?? 0) + 1;
    const delay = backoffDelay(count - 1, { ...retryDelays(problem), jitter: 0.1, random });
    const at = clock.now();
    this.#failures.set(name, { problem, count, at, retryAt: at + delay, isBackOffTold: false });
    if (problem.later !== undefined) wakeAt(at + LATER_MS);
    // What cannot be honoured is told once: another try says nothing new.
    if (problem.reason === UNSUPPORTED && before?.problem.message === problem.message) return;
    this.#sayProblem(problem, name);
    logger.info("cannot start a container", { ...podFields(pod()), container: name, error: problem.message });
  }

  #sayProblem({ reason, message, later }: StartProblem, name: string): void {
    if (reason === UNSUPPORTED) this.#say("Warning", reason, message, name);
    else this.#say("Warning", "Failed", `Error: ${later === undefined ? message : reason}`, name);
  }

  /** Tells of pulls that are waited with. */
  tellBackOffs(now: number): void {
    for (const [name, failure] of this.#failures) {
      const { problem, at, isBackOffTold } = failure;
      if (problem.later === undefined || isBackOffTold || now - at < LATER_MS) continue;
      failure.isBackOffTold = true;
      const image = containerOf(this.#context.pod(), name)?.spec.image;
      this.#say("Normal", "BackOff", `Back-off pulling image "${image}"`, name);
      this.#say("Warning", "Failed", `Error: ${problem.later.reason}`, name);
    }
  }

  async #make(action: StartAction, signal: AbortSignal): Promise<string> {
    const { container, attempt, restartDelay } = action;
    const { view, settings, handler, calls, facts, objects, volumes } = this.#context;
    const pod = this.#context.pod();
    const { sandbox } = view.get(uidOf(pod));
    if (sandbox?.state !== "ready") throw new StartProblem("CreateContainerError", "the pod's sandbox is gone");
    const notes = this.#judge(pod, container);
    const image = await this.#image(container, signal);
    const config = await asConfigProblem(async () => {
      const messageFile = terminationMessageFile(
        podDirectory(settings.stateDirectory, uidOf(pod)),
        container.name,
        attempt,
      );
      await this.#volumes.ensure(signal);
      const environment = await resolveEnvironment(pod, container.spec, facts(), objects, volumes.readFile);
      const mounts = await volumes.mounts(pod, container.name, facts());
      await this.#mountedImages(mounts, signal);
      await makeMessageFile(messageFile);
      return forgeContainer(pod, container, {
        attempt,
        restartDelay,
        imageId: image?.id ?? "",
        environment,
        mounts,
        messageFile,
        memoryCapacity: settings.memoryCapacity,
        ...this.#target(container),
      });
    });
    return await calls.run(async () => {
      signal.throwIfAborted();
      const sandboxConfig = forgeSandbox(pod, sandbox.attempt, handler, settings);
      const id = await view.runtime.createContainer(sandbox.id, config, sandboxConfig, signal);
      this.#say("Normal", "Created", "Container created", container.name);
      try {
        await view.runtime.startContainer(id, signal);
      } catch (error) {
        throw new StartProblem("RunContainerError", describeError(error), undefined, { cause: error });
      }
      this.#say("Normal", "Started", "Container started", container.name);
      if (notes.length > 0) this.#say("Warning", "RuntimeLimited", notes.join("; "), container.name);
      return id;
    }, "finish");
  }

  /** What an ephemeral container gets less of than it asks for; the others were looked at before the pod began. */
  #judge(pod: Pod, { role, spec }: PodContainer): readonly string[] {
    if (role !== "ephemeral") return [];
    const { objections = [], notes = [] } = this.#context.view.runtime.judgeEphemeral?.(pod, spec) ?? {};
    const all = [...objections, ...deviceObjections(spec)];
    if (all.length > 0) throw new StartProblem(UNSUPPORTED, all.join("; "));
    return notes;
  }

  async #image(container: PodContainer, signal: AbortSignal): Promise<ImageStatus | undefined> {
    const { view, pod } = this.#context;
    const { images } = view.runtime;
    if (images === undefined) return undefined;
    const { image = "", imagePullPolicy } = container.spec;
    // Beside the start: where the image is there already, nothing waits for secrets.
    void this.#tellMissingSecrets(signal);
    const say: Say = (type, reason, message) => this.#say(type, reason, message, container.name);
    const status = await this.#ensureImage(images, image, imagePullPolicy, say, signal);
    const problem = rootProblem(pod(), container, status);
    if (problem !== undefined) throw new StartProblem("CreateContainerConfigError", problem);
    return status;
  }

  /** Images that volumes are made of. */
  async #mountedImages(mounts: readonly Mount[], signal: AbortSignal): Promise<void> {
    const { view, pod } = this.#context;
    const { images } = view.runtime;
    for (const { image } of mounts) {
      if (image === undefined || images === undefined) continue;
      const volume = pod().spec?.volumes?.find((candidate) => candidate.image?.reference === image);
      await this.#ensureImage(images, image, volume?.image?.pullPolicy, this.#say, signal);
    }
  }

  #ensureImage(
    images: ImageStore,
    image: string,
    policy: string | undefined,
    say: Say,
    signal: AbortSignal,
  ): Promise<ImageStatus> {
    const secrets = () => this.#pullSecrets(signal);
    const wish = { images, image, secrets, say, signal };
    return this.#context.puller.ensure(policy === undefined ? wish : { ...wish, policy });
  }

  async #pullSecrets(signal: AbortSignal): Promise<Secret[]> {
    const found = await this.#namedSecrets(signal);
    return found.flatMap(([, secret]) => secret ?? []);
  }

  async #tellMissingSecrets(signal: AbortSignal): Promise<void> {
    // Where they cannot be had at all, the pull that needs them says why.
    const found = await this.#namedSecrets(signal).catch(() => []);
    const missing = found.flatMap(([name, secret]) => (secret === undefined ? [name] : []));
    if (missing.length === 0 || signal.aborted) return;
    const message = `Unable to retrieve some image pull secrets (${missing.join(", ")}); attempting to pull the image may not succeed.`;
    this.#say("Warning", "FailedToRetrieveImagePullSecret", message);
  }

  #namedSecrets(signal: AbortSignal): Promise<[string, Secret | undefined][]> {
    const { objects, pod } = this.#context;
    const { namespace = "" } = pod().metadata;
    const names = (pod().spec?.imagePullSecrets ?? []).flatMap(({ name }) => (name ? [name] : []));
    const find = async (name: string): Promise<[string, Secret | undefined]> => [
      name,
      await objects.secret(namespace, name, signal),
    ];
    return Promise.all(names.map(find));
  }

  #target({ target }: PodContainer): { targetContainer?: string } {
    if (target === undefined) return {};
    const found = newest(this.#context.view.get(uidOf(this.#context.pod())), target);
    if (found === undefined || !isAlive(found)) {
      throw new StartProblem("CreateContainerConfigError", `unable to find target container ${target}`);
    }
    return { targetContainer: found.id };
  }
}

async function asConfigProblem<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StartProblem) throw error;
    throw new StartProblem("CreateContainerConfigError", describeError(error), undefined, { cause: error });
  }
}

/** Whoever the container runs as may write to it. */
async function makeMessageFile(file: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, "");
  // Whoever the container runs as writes to it; asked for at once, the umask would take that away.
  await chmod(file, 0o666);
}
