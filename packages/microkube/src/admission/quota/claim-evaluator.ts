import type { PersistentVolumeClaim } from "@fjord/kube";
import { type Amount, amount, count } from "../amount.ts";
import type { QuotaEvaluator } from "./quota-evaluator.ts";
import { selectsValue } from "./scope.ts";

const CLASS = ".storageclass.storage.k8s.io/";
const counted = ["persistentvolumeclaims", "requests.storage"];
const UNIT = 1_000_000_000n;

export const claimEvaluator: QuotaEvaluator = {
  handles({ operation, subresource, object, old }) {
    if (subresource === "") return operation === "CREATE" || operation === "UPDATE";
    if (subresource !== "status") return false;
    const allocated = (claim: unknown) => (claim as PersistentVolumeClaim).status?.allocatedResources?.storage;
    return allocated(object) !== allocated(old);
  },
  counts: (names) =>
    names.filter(
      (name) =>
        name === "count/persistentvolumeclaims" ||
        counted.some((one) => name === one || name.endsWith(`${CLASS}${one}`)),
    ),
  usage(object) {
    const claim = object as PersistentVolumeClaim;
    const usage = new Map<string, Amount>([
      ["count/persistentvolumeclaims", count(1)],
      ["persistentvolumeclaims", count(1)],
    ]);
    const ofClass =
      claim.metadata.annotations?.["volume.beta.kubernetes.io/storage-class"] ?? claim.spec?.storageClassName ?? "";
    if (ofClass !== "") usage.set(`${ofClass}${CLASS}persistentvolumeclaims`, count(1));
    const storage = storageOf(claim);
    if (storage === undefined) return usage;
    usage.set("requests.storage", storage);
    if (ofClass !== "") usage.set(`${ofClass}${CLASS}requests.storage`, storage);
    return usage;
  },
  inScope(selector, object) {
    if (selector.scopeName !== "VolumeAttributesClass") return false;
    const { spec, status } = object as PersistentVolumeClaim;
    const { volumeAttributesClassName: wanted } = spec ?? {};
    const { currentVolumeAttributesClassName: current, modifyVolumeStatus } = status ?? {};
    const names = [wanted, current, modifyVolumeStatus?.targetVolumeAttributesClassName].filter((name) => name);
    return names.length === 0 ? selectsValue(selector, undefined) : names.some((name) => selectsValue(selector, name));
  },
};

/** What is asked for, or what an expansion that failed has taken already; in whole bytes. */
function storageOf({ spec, status }: PersistentVolumeClaim): Amount | undefined {
  const asked = spec?.resources?.requests?.storage;
  if (asked === undefined) return undefined;
  const allocated = status?.allocatedResources?.storage;
  const most = [asked, ...(allocated === undefined ? [] : [allocated])]
    .map(amount)
    .reduce((a, b) => (b.value > a.value ? b : a));
  const rest = most.value % UNIT;
  return rest === 0n ? most : { ...most, value: most.value - rest + UNIT };
}
