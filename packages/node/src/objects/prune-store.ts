import type { PersistentVolumeClaim } from "@fjord/kube";
import type { NodeStore } from "../store/node-store.ts";
import { podReferences } from "./pod-references.ts";

/** Kinds that are kept for the pods that name them, and no longer. */
const kept = new Set(["ConfigMap", "Secret", "PersistentVolumeClaim", "PersistentVolume"]);

/** Takes out what pods have left behind that went while nobody was looking: secrets and tokens should not outlive them. */
export function pruneStore(store: NodeStore): void {
  const pods = store.pods();
  const uids = new Set(pods.map(({ metadata }) => metadata.uid));
  const needed = new Set(
    pods.flatMap(podReferences).map(({ kind, namespace, name }) => `${kind}/${namespace}/${name}`),
  );
  for (const claim of store.objects<PersistentVolumeClaim>("PersistentVolumeClaim")) {
    needed.add(`PersistentVolume//${claim.spec?.volumeName}`);
  }
  const keys = store.objectKeys().filter((key) => kept.has(key.kind));
  const stale = keys.filter(({ kind, namespace, name }) => !needed.has(`${kind}/${namespace}/${name}`));
  const tokens = store.tokenPods().filter((uid) => !uids.has(uid));
  if (stale.length + tokens.length === 0) return;
  store.transaction(() => {
    for (const key of stale) store.removeObject(key);
    for (const uid of tokens) store.removeTokens(uid);
  });
}
