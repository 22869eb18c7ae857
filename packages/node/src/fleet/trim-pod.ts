import type { Pod } from "@fjord/kube";
import type { Container, PodSpec } from "../pod/pod-containers.ts";
import { PREFIX } from "../runtimes/simulated/index.ts";

const CAPACITY = 4096;

/**
 * Keeps of pods what a simulation reads, which is a tenth of them, and one copy of what the pods of a workload have in
 * common: with tens of thousands of pods in one process, this is where its memory goes.
 */
export class PodTrimmer {
  /** Emptied when full: what is frequent is soon back. */
  readonly #specs = new Map<string, PodSpec>();
  readonly #maps = new Map<string, Record<string, string>>();
  readonly #isOurs: (nodeName: string) => boolean;

  constructor(isOurs: (nodeName: string) => boolean) {
    this.#isOurs = isOurs;
  }

  trim(pod: Pod): Pod {
    const { metadata, spec, status } = pod;
    const { name = "", namespace = "", uid = "", resourceVersion = "" } = metadata;
    const nodeName = spec?.nodeName ?? "";
    const key = { name, namespace, uid, resourceVersion };
    if (!this.#isOurs(nodeName))
      return { apiVersion: "v1", kind: "Pod", metadata: key, spec: { containers: [], nodeName } };
    const { labels, deletionTimestamp, deletionGracePeriodSeconds, generation, finalizers, ownerReferences } = metadata;
    const annotations = this.#annotations(metadata.annotations);
    return {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        ...key,
        ...(generation !== undefined && { generation }),
        ...(labels && { labels: this.#shared(labels) }),
        ...(annotations && { annotations }),
        ...(ownerReferences && { ownerReferences }),
        ...(finalizers && { finalizers }),
        ...(deletionTimestamp !== undefined && { deletionTimestamp }),
        ...(deletionGracePeriodSeconds !== undefined && { deletionGracePeriodSeconds }),
      },
      spec: this.#spec(spec ?? { containers: [] }),
      ...(status && { status }),
    };
  }

  /** What others say of the pod on their annotations is not read. */
  #annotations(all: Record<string, string> | undefined): Record<string, string> | undefined {
    if (all === undefined) return undefined;
    const own = Object.entries(all).filter(([name]) => name.startsWith(PREFIX));
    return own.length === 0 ? undefined : this.#shared(Object.fromEntries(own));
  }

  #spec(spec: PodSpec): PodSpec {
    const { nodeName, restartPolicy, terminationGracePeriodSeconds, activeDeadlineSeconds, hostNetwork } = spec;
    const { readinessGates, initContainers, containers, ephemeralContainers } = spec;
    const trimmed = {
      nodeName,
      restartPolicy,
      terminationGracePeriodSeconds,
      activeDeadlineSeconds,
      hostNetwork,
      readinessGates,
      initContainers: initContainers?.map(trimContainer),
      containers: containers.map(trimContainer),
      ephemeralContainers: ephemeralContainers?.map((each) => ({
        ...trimContainer(each),
        targetContainerName: each.targetContainerName,
      })),
    };
    return remembered(this.#specs, JSON.stringify(trimmed), (text) => JSON.parse(text) as PodSpec);
  }

  #shared(map: Record<string, string>): Record<string, string> {
    return remembered(this.#maps, JSON.stringify(map), () => map);
  }
}

/** Without names of volumes, which differ from pod to pod, and without what only a process would use. */
function trimContainer({ name, image, resources, restartPolicy, restartPolicyRules, lifecycle }: Container): Container {
  const { stopSignal } = lifecycle ?? {};
  return {
    name,
    ...(image !== undefined && { image }),
    ...(resources && { resources }),
    ...(restartPolicy !== undefined && { restartPolicy }),
    ...(restartPolicyRules && { restartPolicyRules }),
    ...(stopSignal !== undefined && { lifecycle: { stopSignal } }),
  };
}

function remembered<T>(known: Map<string, T>, text: string, make: (text: string) => T): T {
  const found = known.get(text);
  if (found !== undefined) return found;
  if (known.size === CAPACITY) known.clear();
  const fresh = make(text);
  known.set(text, fresh);
  return fresh;
}
