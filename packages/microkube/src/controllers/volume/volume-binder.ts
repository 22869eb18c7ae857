import { describeError, type KubeObject } from "@fjord/base";
import {
  type Cache,
  isAlreadyExists,
  isBeingDeleted,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  type Request,
  type Result,
  requestFor,
  StorageClass,
  watches,
} from "@fjord/kube";
import type { ControlLoop, ControlMeans } from "../control-loop.ts";
import { again, Loop, reasonOf, unlessGone } from "../loop.ts";
import { writeFields, writeStatus } from "../status-writer.ts";
import { forgeLocalVolume } from "./local-volume.ts";
import { asksForNoClass, bestVolume, classOf, isReservedFor, mismatch } from "./volume-match.ts";

const BIND_COMPLETED = "pv.kubernetes.io/bind-completed";
const BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller";
const SELECTED_NODE = "volume.kubernetes.io/selected-node";
const PROVISIONER = "volume.kubernetes.io/storage-provisioner";
const BETA_PROVISIONER = "volume.beta.kubernetes.io/storage-provisioner";
const DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class";
const NO_PROVISIONER = "kubernetes.io/no-provisioner";
/** How often something is said again of a claim that waits. */
const REMIND_MS = 15_000;

/** The provisioner whose volumes are folders of nodes. */
export const LOCAL_PATH_PROVISIONER = "microkube.fjord.dev/local-path";

export interface VolumeBinderOptions {
  /** By what name classes ask for folders of nodes. @default LOCAL_PATH_PROVISIONER */
  readonly provisioner?: string;
  /** Where those folders are; a class may say otherwise by its parameter `nodePath`. @default "/var/lib/microkube/volumes" */
  readonly directory?: string;
  /** A default class of this name is made where there is none of it. Absent: no class is made. */
  readonly defaultClass?: string;
}

/** Brings claims and volumes together, and makes volumes out of folders of nodes where a class asks for it. */
export function volumeBinder(options: VolumeBinderOptions = {}): ControlLoop {
  return (means) => {
    const loop = new Loop(means, "persistentvolume-controller");
    const claims = loop.open(PersistentVolumeClaim);
    const volumes = loop.open(PersistentVolume);
    const classes = loop.open(StorageClass);
    const nodes = loop.open(Node);
    const binder = new VolumeBinder(means, loop, { claims, volumes, classes, nodes }, options);
    const waiting = () =>
      claims
        .list()
        .filter(({ status }) => status?.phase !== "Bound")
        .map(requestFor);
    return loop
      .meanwhile((stop) => binder.makeDefaultClass(options.defaultClass, stop))
      .reconciles({
        sources: [
          watches(claims),
          watches(volumes, ({ spec }) => {
            const { name, namespace } = spec?.claimRef ?? {};
            return name === undefined ? waiting() : [{ name, namespace }];
          }),
          watches(classes, waiting),
        ],
        // One at a time: two claims must not take the same volume.
        concurrency: 1,
        reconcile: (request, { signal }) => binder.bindClaim(request, signal),
      })
      .reconciles(
        {
          sources: [
            watches(volumes),
            watches(claims, ({ spec }) => (spec?.volumeName ? [{ name: spec.volumeName }] : [])),
          ],
          reconcile: (request, { signal }) => binder.settleVolume(request, signal),
        },
        "persistentvolume-phase-controller",
      );
  };
}

interface Caches {
  readonly claims: Cache<PersistentVolumeClaim>;
  readonly volumes: Cache<PersistentVolume>;
  readonly classes: Cache<StorageClass>;
  readonly nodes: Cache<Node>;
}

class VolumeBinder {
  readonly #means: ControlMeans;
  readonly #loop: Loop;
  readonly #caches: Caches;
  readonly #provisioner: string;
  readonly #directory: string;

  constructor(means: ControlMeans, loop: Loop, caches: Caches, options: VolumeBinderOptions) {
    this.#means = means;
    this.#loop = loop;
    this.#caches = caches;
    this.#provisioner = options.provisioner ?? LOCAL_PATH_PROVISIONER;
    this.#directory = options.directory ?? "/var/lib/microkube/volumes";
  }

  async makeDefaultClass(name: string | undefined, signal: AbortSignal): Promise<void> {
    if (name === undefined || this.#caches.classes.get({ name }) !== undefined) return;
    const metadata = { name, annotations: { [DEFAULT_CLASS]: "true" } };
    try {
      await this.#means.client.create(
        StorageClass,
        {
          apiVersion: "storage.k8s.io/v1",
          kind: "StorageClass",
          metadata,
          provisioner: this.#provisioner,
          reclaimPolicy: "Delete",
          volumeBindingMode: "WaitForFirstConsumer",
        },
        { signal },
      );
    } catch (error) {
      if (isAlreadyExists(error) || signal.aborted) return;
      this.#means.logger.warn("cannot make the default storage class", { name, error: describeError(error) });
    }
  }

  async bindClaim(request: Request, signal: AbortSignal): Promise<Result> {
    const claim = this.#caches.claims.get(request);
    if (claim === undefined) return { type: "done" };
    if (claim.spec?.volumeName) return await this.#followVolume(claim, claim.spec.volumeName, signal);
    if (isBeingDeleted(claim)) return { type: "done" };
    if (claim.status?.phase === undefined) {
      await writeStatus(this.#means.client, PersistentVolumeClaim, claim, { status: { phase: "Pending" } }, signal);
    }
    const withClass = await this.#assignDefaultClass(claim, signal);
    if (withClass !== undefined) return { type: "done" };
    const storageClass = this.#caches.classes.get({ name: classOf(claim) });
    const selected = claim.metadata.annotations?.[SELECTED_NODE];
    const waits = storageClass?.volumeBindingMode === "WaitForFirstConsumer" && selected === undefined;
    const volumes = this.#caches.volumes.list();
    const reserved = volumes.find((volume) => isReservedFor(volume, claim) && mismatch(volume, claim) === undefined);
    if (waits && reserved === undefined) {
      this.#tell(claim, "WaitForFirstConsumer", "waiting for first consumer to be created before binding");
      return again(REMIND_MS);
    }
    const node = selected === undefined ? undefined : this.#caches.nodes.get({ name: selected });
    const volume = reserved ?? bestVolume(volumes, claim, node);
    if (volume !== undefined) {
      await this.#bind(volume, claim, signal);
      return { type: "done" };
    }
    return await this.#provision(claim, storageClass, node, signal);
  }

  /** A claim that named no class gets the default one, also when that comes later. */
  async #assignDefaultClass(claim: PersistentVolumeClaim, signal: AbortSignal): Promise<KubeObject | undefined> {
    if (classOf(claim) !== "" || asksForNoClass(claim)) return undefined;
    const defaults = this.#caches.classes
      .list()
      .filter(({ metadata }) => metadata.annotations?.[DEFAULT_CLASS] === "true")
      .toSorted((a, b) => ((a.metadata.creationTimestamp ?? "") < (b.metadata.creationTimestamp ?? "") ? 1 : -1));
    const [first] = defaults;
    if (first === undefined) return undefined;
    const fields = { spec: { storageClassName: first.metadata.name } };
    return await writeFields(this.#means.client, PersistentVolumeClaim, claim, fields, signal);
  }

  async #followVolume(claim: PersistentVolumeClaim, name: string, signal: AbortSignal): Promise<Result> {
    const volume = this.#caches.volumes.get({ name });
    const wasBound = claim.metadata.annotations?.[BIND_COMPLETED] !== undefined;
    if (volume === undefined) {
      if (!wasBound) return again(REMIND_MS);
      const found = await unlessGone(this.#means.client.get(PersistentVolume, { name }, { signal }));
      if (found !== undefined) return again(500);
      return await this.#lose(claim, "Bound claim has lost its PersistentVolume. Data on the volume is lost!", signal);
    }
    if (volume.spec?.claimRef === undefined || isReservedFor(volume, claim)) {
      await this.#bind(volume, claim, signal);
      return { type: "done" };
    }
    if (!wasBound) {
      const message = `volume "${name}" already bound to a different claim.`;
      this.#loop.event(claim, "Warning", "FailedBinding", message);
      return again(REMIND_MS);
    }
    const message = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!";
    return await this.#lose(claim, message, signal);
  }

  async #lose(claim: PersistentVolumeClaim, message: string, signal: AbortSignal): Promise<Result> {
    if (claim.status?.phase === "Lost") return { type: "done" };
    await writeStatus(this.#means.client, PersistentVolumeClaim, claim, { status: { phase: "Lost" } }, signal);
    this.#loop.event(claim, "Warning", "ClaimLost", message);
    return { type: "done" };
  }

  /** First the volume says whose it is, then the claim; each step can be done again. */
  async #bind(volume: PersistentVolume, claim: PersistentVolumeClaim, signal: AbortSignal): Promise<void> {
    const { client } = this.#means;
    let bound = volume;
    if (volume.spec?.claimRef?.uid !== claim.metadata.uid) {
      const { name, namespace, uid, resourceVersion } = claim.metadata;
      const claimRef = { apiVersion: "v1", kind: "PersistentVolumeClaim", name, namespace, uid, resourceVersion };
      const isOurs = volume.spec?.claimRef === undefined;
      const annotations = isOurs ? { metadata: { annotations: { [BOUND_BY_CONTROLLER]: "yes" } } } : {};
      bound = await writeFields(client, PersistentVolume, volume, { ...annotations, spec: { claimRef } }, signal);
    }
    const boundStatus = {
      ...bound.status,
      phase: "Bound" as const,
      lastPhaseTransitionTime: bound.status?.lastPhaseTransitionTime,
    };
    await writeStatus(client, PersistentVolume, bound, { status: boundStatus }, signal);
    let next = claim;
    if (!claim.spec?.volumeName || claim.metadata.annotations?.[BIND_COMPLETED] !== "yes") {
      const isOurs = !claim.spec?.volumeName;
      const annotations = { [BIND_COMPLETED]: "yes", ...(isOurs && { [BOUND_BY_CONTROLLER]: "yes" }) };
      const fields = { metadata: { annotations }, spec: { volumeName: volume.metadata.name } };
      next = await writeFields(client, PersistentVolumeClaim, claim, fields, signal);
    }
    const { accessModes, capacity } = volume.spec ?? {};
    const status = {
      ...next.status,
      phase: "Bound" as const,
      accessModes,
      capacity: next.status?.capacity ?? capacity,
    };
    await writeStatus(client, PersistentVolumeClaim, next, { status }, signal);
  }

  async #provision(
    claim: PersistentVolumeClaim,
    storageClass: StorageClass | undefined,
    node: Node | undefined,
    signal: AbortSignal,
  ): Promise<Result> {
    const className = classOf(claim);
    if (className === "") {
      this.#tell(claim, "FailedBinding", "no persistent volumes available for this claim and no storage class is set");
      return again(REMIND_MS);
    }
    if (storageClass === undefined) {
      const message = `storageclass.storage.k8s.io "${className}" not found`;
      this.#loop.event(claim, "Warning", "ProvisioningFailed", message);
      return again(REMIND_MS);
    }
    const { provisioner } = storageClass;
    if (provisioner === NO_PROVISIONER) return { type: "done" };
    if (provisioner !== this.#provisioner) return await this.#waitForProvisioner(claim, provisioner, signal);
    const volume = forgeLocalVolume(claim, storageClass, this.#directory, node);
    this.#tell(
      claim,
      "Provisioning",
      `External provisioner is provisioning volume for claim "${claim.metadata.namespace}/${claim.metadata.name}"`,
    );
    try {
      await this.#means.client.create(PersistentVolume, volume, { signal });
      this.#tell(claim, "ProvisioningSucceeded", `Successfully provisioned volume ${volume.metadata.name}`);
    } catch (error) {
      if (isAlreadyExists(error)) return { type: "done" };
      this.#loop.event(claim, "Warning", "ProvisioningFailed", reasonOf(error));
      throw error;
    }
    return { type: "done" };
  }

  async #waitForProvisioner(claim: PersistentVolumeClaim, provisioner: string, signal: AbortSignal): Promise<Result> {
    if (claim.metadata.annotations?.[PROVISIONER] !== provisioner) {
      const annotations = { [PROVISIONER]: provisioner, [BETA_PROVISIONER]: provisioner };
      await writeFields(this.#means.client, PersistentVolumeClaim, claim, { metadata: { annotations } }, signal);
      return { type: "done" };
    }
    const message = `Waiting for a volume to be created either by the external provisioner '${provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`;
    this.#tell(claim, "ExternalProvisioning", message);
    return again(REMIND_MS);
  }

  /** What a volume says of itself once its claim has come or gone. */
  async settleVolume(request: Request, signal: AbortSignal): Promise<Result> {
    const { client } = this.#means;
    const volume = this.#caches.volumes.get(request);
    if (volume === undefined) return { type: "done" };
    const reference = volume.spec?.claimRef;
    const setPhase = async (phase: "Available" | "Bound" | "Released") => {
      if (volume.status?.phase === phase) return;
      await writeStatus(client, PersistentVolume, volume, { status: { ...volume.status, phase } }, signal);
    };
    // Reserved for a claim that has not come yet, or for none.
    if (reference === undefined || !reference.uid) {
      await setPhase("Available");
      return { type: "done" };
    }
    const key = { name: reference.name ?? "", namespace: reference.namespace };
    const cached = this.#caches.claims.get(key);
    const claim = cached ?? (await unlessGone(client.get(PersistentVolumeClaim, key, { signal })));
    if (claim?.metadata.uid === reference.uid) return { type: "done" };
    await setPhase("Released");
    const isOwn = volume.metadata.annotations?.["pv.kubernetes.io/provisioned-by"] === this.#provisioner;
    if (volume.spec?.persistentVolumeReclaimPolicy === "Delete" && isOwn && !isBeingDeleted(volume)) {
      await unlessGone(
        client.delete(PersistentVolume, request, { preconditions: { uid: volume.metadata.uid }, signal }),
      );
    }
    return { type: "done" };
  }

  #tell(claim: PersistentVolumeClaim, reason: string, message: string): void {
    this.#loop.event(claim, "Normal", reason, message);
  }
}
