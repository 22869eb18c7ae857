import type { Pod } from "@fjord/kube";
import type { PodObjects } from "../../objects/pod-objects.ts";
import { volumeObjections } from "../../volumes/volume-objections.ts";
import { annotations } from "../annotations.ts";
import { RuntimeClassMissing } from "../errors.ts";
import { uidOf } from "../pod-containers.ts";
import type { Objections } from "./pod-hold.ts";
import type { RuntimeView } from "./runtime-view.ts";

export interface RuntimeChoice {
  readonly view: RuntimeView;
  readonly handler: string;
  /** Why the pod cannot be run here. */
  readonly objections: Objections;
}

export interface RuntimeChooser {
  readonly views: readonly RuntimeView[];
  /** Of a handler; undefined where the node has no such runtime. */
  readonly viewOf: (handler: string) => RuntimeView | undefined;
  readonly objects: Pick<PodObjects, "runtimeClass">;
}

/** The runtime that has the pod already, else the one that its RuntimeClass asks for. */
export async function chooseRuntime(pod: Pod, chooser: RuntimeChooser, signal: AbortSignal): Promise<RuntimeChoice> {
  for (const view of chooser.views) {
    const { sandbox } = view.get(uidOf(pod));
    const handler = sandbox?.annotations[annotations.handler] ?? "";
    if (sandbox !== undefined) return { view, handler, objections: () => [] };
  }
  // What was deleted before it began needs no runtime of its own to be reported as ended.
  const name = pod.metadata.deletionTimestamp === undefined ? pod.spec?.runtimeClassName : undefined;
  const handler = name ? await handlerOf(name, chooser, signal) : "";
  const view = chooser.viewOf(handler);
  if (view !== undefined)
    return { view, handler, objections: (newest) => [...view.runtime.objections(newest), ...volumeObjections(newest)] };
  const [any] = chooser.views;
  if (any === undefined) throw new Error("a node needs a runtime");
  return { view: any, handler, objections: () => [`this node has no runtime for the handler "${handler}"`] };
}

async function handlerOf(name: string, { objects }: RuntimeChooser, signal: AbortSignal): Promise<string> {
  const found = await objects.runtimeClass(name, signal);
  if (found === undefined) throw new RuntimeClassMissing({ name });
  return found.handler;
}
