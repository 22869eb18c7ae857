import type { Pod } from "@fjord/kube";
import { expand } from "../../environment/expansion.ts";
import { containerResources } from "../../resources/container-resources.ts";
import type { ContainerConfig, EnvironmentVariable, Mount } from "../../runtime/index.ts";
import { annotations } from "../annotations.ts";
import type { PodContainer } from "../pod-containers.ts";
import { podLabels } from "./sandbox-forge.ts";
import { securityOf } from "./security.ts";

/** What was found out about a container before it is made. */
export interface ContainerFacts {
  readonly attempt: number;
  readonly imageId: string;
  readonly environment: readonly EnvironmentVariable[];
  /** Of its volumes. */
  readonly mounts: readonly Mount[];
  /** Host file for its last words. */
  readonly messageFile: string;
  /** Id of the container whose processes it joins. */
  readonly targetContainer?: string;
  readonly restartDelay: number;
  readonly memoryCapacity: number;
}

const DEFAULT_MESSAGE_PATH = "/dev/termination-log";

/** What a runtime needs to make a container. */
export function forgeContainer(pod: Pod, container: PodContainer, facts: ContainerFacts): ContainerConfig {
  const { spec, name } = container;
  const { attempt, environment } = facts;
  const variables = new Map(environment.map((variable) => [variable.name, variable.value]));
  const expandAll = (texts: readonly string[] = []) => texts.map((text) => expand(text, variables));
  const { stopSignal } = spec.lifecycle ?? {};
  return {
    name,
    attempt,
    image: spec.image ?? "",
    imageId: facts.imageId,
    command: expandAll(spec.command),
    args: expandAll(spec.args),
    workingDirectory: spec.workingDir ?? "",
    environment,
    mounts: withMessageFile(facts.mounts, spec.terminationMessagePath ?? DEFAULT_MESSAGE_PATH, facts.messageFile),
    labels: { ...podLabels(pod), "io.kubernetes.container.name": name },
    annotations: {
      [annotations.restartDelay]: String(facts.restartDelay),
      [annotations.image]: spec.image ?? "",
      [annotations.role]: container.role,
      [annotations.resources]: JSON.stringify(spec.resources ?? {}),
      [annotations.grace]: String(pod.spec?.terminationGracePeriodSeconds ?? 30),
      [annotations.terminationMessage]: facts.messageFile,
    },
    logPath: `${name}/${attempt}.log`,
    stdin: spec.stdin ?? false,
    stdinOnce: spec.stdinOnce ?? false,
    tty: spec.tty ?? false,
    resources: containerResources(pod, spec, facts.memoryCapacity),
    security: securityOf(pod, spec),
    ...(facts.targetContainer !== undefined && { targetContainer: facts.targetContainer }),
    ...(stopSignal !== undefined && { stopSignal }),
  };
}

/** A volume that the pod mounts at the same place goes first. */
function withMessageFile(mounts: readonly Mount[], containerPath: string, hostPath: string): Mount[] {
  if (mounts.some((mount) => mount.containerPath === containerPath)) return [...mounts];
  return [...mounts, { hostPath, containerPath, readOnly: false }];
}
