import { type Contract, DRAINED_TAINT } from "@fjord/api";
import type { Node } from "@fjord/kube";
import type { Taint } from "@fjord/node/registration";
import { standingOf } from "../../market/index.ts";
import { isEndedForGood } from "./contract-line.ts";
import { givenKeys, notesOf } from "./given-labels.ts";
import type { NodeLabels } from "./node-labels.ts";

/** On a virtual node that Fjord has cordoned: why. What its owner cordoned stays so. */
export const CORDONED_ANNOTATION = "fjord.dev/cordoned";

/** Why no new pods may come: in the words of the annotation. */
export type CordonReason = "ContractCordoned" | "ContractDrained" | "ContractEnded" | "Deleting";

export interface WantedNode {
  /** Absent while nothing is known of the provider: then the labels stay. */
  readonly labels?: NodeLabels;
  readonly taints: readonly Taint[];
  readonly cordon: CordonReason | undefined;
}

/** What either owner of the contract wants for the node. */
export function cordonOf(contract: Contract | undefined, isBeingDeleted: boolean): CordonReason | undefined {
  if (isBeingDeleted) return "Deleting";
  if (isEndedForGood(contract)) return "ContractEnded";
  const standing = contract && standingOf(contract);
  if (standing === "Drained") return "ContractDrained";
  return standing === "Cordoned" ? "ContractCordoned" : undefined;
}

/** A merge patch that makes the Node what it is to be; undefined where it is. What others gave it stays. */
export function nodePatch(node: Node, wanted: WantedNode): object | undefined {
  const labels = labelChanges(node, wanted.labels);
  const cordon = cordonChanges(node, wanted.cordon);
  const taints = taintChanges(node, wanted);
  const annotations = { ...labels.annotations, ...cordon.annotations };
  const spec = { ...cordon.spec, ...(taints && { taints }) };
  const metadata = {
    ...(isFilled(labels.labels) && { labels: labels.labels }),
    ...(isFilled(annotations) && { annotations }),
  };
  if (!isFilled(metadata) && !isFilled(spec)) return undefined;
  // The list of taints is replaced as a whole: what somebody else has added meanwhile must not be lost.
  const { resourceVersion } = node.metadata;
  return {
    metadata: { ...metadata, ...(taints && { resourceVersion }) },
    ...(isFilled(spec) && { spec }),
  };
}

interface Changes {
  readonly labels?: Record<string, string | null>;
  readonly annotations: Record<string, string | null>;
  readonly spec?: { unschedulable: true | null };
}

function labelChanges(node: Node, wantedLabels: NodeLabels | undefined): Changes {
  if (wantedLabels === undefined) return { annotations: {} };
  const { own, published } = wantedLabels;
  const { labels: present = {}, annotations: noted = {} } = node.metadata;
  const ours = new Set(givenKeys(node));
  // A label that the owner put there goes before what the provider says of itself.
  const said = Object.entries(published).filter(([key]) => ours.has(key) || !(key in present));
  const wanted: Record<string, string> = { ...Object.fromEntries(said), ...own };
  const labels: Record<string, string | null> = {};
  for (const [key, value] of Object.entries(wanted)) if (present[key] !== value) labels[key] = value;
  for (const key of ours) if (!(key in wanted) && key in present) labels[key] = null;
  const notes = Object.entries(notesOf(wanted)).filter(([key, value]) => noted[key] !== value);
  return { labels, annotations: Object.fromEntries(notes) };
}

function cordonChanges({ metadata, spec }: Node, reason: CordonReason | undefined): Changes {
  const mark = metadata.annotations?.[CORDONED_ANNOTATION];
  const isCordoned = spec?.unschedulable === true;
  if (reason === undefined) {
    if (mark === undefined) return { annotations: {} };
    return { annotations: { [CORDONED_ANNOTATION]: null }, ...(isCordoned && { spec: { unschedulable: null } }) };
  }
  // Cordoned, and not by us: then it is not ours to take back either.
  if (isCordoned && mark === undefined) return { annotations: {} };
  return {
    annotations: mark === reason ? {} : { [CORDONED_ANNOTATION]: reason },
    ...(!isCordoned && { spec: { unschedulable: true } }),
  };
}

const DRAINED: Taint = { key: DRAINED_TAINT, value: "true", effect: "NoSchedule" };

/** All taints that the Node is to have; undefined where it has them. */
function taintChanges({ spec }: Node, { taints, cordon }: WantedNode): Taint[] | undefined {
  const isToBeEmpty = cordon !== undefined && cordon !== "ContractCordoned";
  const wanted = isToBeEmpty ? [...taints.filter((taint) => !isSame(taint, DRAINED)), DRAINED] : taints;
  const present = (spec?.taints ?? []) as Taint[];
  const missing = wanted.filter((taint) => !present.some((each) => isSame(each, taint)));
  const over = present.filter((taint) => isSame(taint, DRAINED) && !wanted.some((each) => isSame(each, taint)));
  if (missing.length === 0 && over.length === 0) return undefined;
  return [...present.filter((taint) => !over.includes(taint)), ...missing];
}

function isSame(a: Taint, b: Taint): boolean {
  return a.key === b.key && a.effect === b.effect;
}

function isFilled(map: object | undefined): boolean {
  return map !== undefined && Object.keys(map).length > 0;
}
