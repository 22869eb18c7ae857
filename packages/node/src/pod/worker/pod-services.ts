import type { Clock, Logger, Random } from "@fjord/base";
import type { EventSink, Pod } from "@fjord/kube";
import type { PodObjects } from "../../objects/pod-objects.ts";
import type { PodSource } from "../../pod-source/pod-source.ts";
import type { NodeLedger } from "../../resources/node-ledger.ts";
import type { PodFacts, PodVolumes } from "../../volumes/pod-volumes.ts";
import type { ImagePuller } from "../image/image-puller.ts";
import type { RestartTiming } from "../plan/restart-delay.ts";
import { fieldPathOf } from "../pod-containers.ts";
import type { PodSettings } from "../pod-settings.ts";
import type { StatusWriter } from "../status/status-writer.ts";
import type { CallLimit } from "./call-limit.ts";
import type { RuntimeView } from "./runtime-view.ts";

/** What the workers of all pods share. */
export interface PodServices {
  readonly source: PodSource;
  readonly objects: PodObjects;
  readonly volumes: PodVolumes;
  readonly events: EventSink;
  readonly statuses: StatusWriter;
  readonly puller: ImagePuller;
  /** Bounds the calls that make something in a runtime. */
  readonly calls: CallLimit;
  /** What pods have been promised of the node. */
  readonly ledger: NodeLedger;
  readonly shortage?: (pod: Pod) => string | undefined;
  /** Reads the Node's labels anew into the settings. */
  readonly refreshLabels?: (signal: AbortSignal) => Promise<void>;
  readonly settings: PodSettings;
  readonly timing: RestartTiming;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** What the parts of one pod's worker share. */
export interface WorkerContext extends PodServices {
  /** As last seen, also once the API no longer has it. */
  readonly pod: () => Pod;
  readonly view: RuntimeView;
  readonly handler: string;
  readonly facts: () => PodFacts;
  readonly wake: () => void;
  /** Wakes at the time, or before. */
  readonly wakeAt: (time: number) => void;
  /** Aborts when the node stops: whatever runs goes on running. */
  readonly signal: AbortSignal;
}

export type Say = (type: "Normal" | "Warning", reason: string, message: string, container?: string) => void;

/** Records an event about the pod, or about the container of it that is named. */
export function sayer({ events }: Pick<PodServices, "events">, pod: () => Pod): Say {
  return (type, reason, message, container) => {
    const fieldPath = container === undefined ? undefined : fieldPathOf(pod(), container);
    events.event(pod(), { type, reason, message, ...(fieldPath !== undefined && { fieldPath }) });
  };
}
