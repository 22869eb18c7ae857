import type { Pod } from "@fjord/kube";
import type { MemoryObjects } from "./memory-objects.ts";
import { testPod } from "./pods.ts";

/** A pod with a volume of each sort that needs work to make and to remove. */
export function restlessPod(uid: string): Pod {
  const pod = testPod({
    volumes: [
      { name: "scratch", emptyDir: {} },
      { name: "fast", emptyDir: { medium: "Memory" } },
      { name: "settings", configMap: { name: "settings" } },
      { name: "keys", secret: { secretName: "keys" } },
    ],
    container: {
      volumeMounts: [
        { name: "scratch", mountPath: "/scratch", subPath: "a/b" },
        { name: "fast", mountPath: "/fast" },
        { name: "settings", mountPath: "/settings" },
        { name: "settings", mountPath: "/one", subPath: "a" },
        { name: "keys", mountPath: "/keys" },
      ],
    },
  });
  pod.metadata.uid = uid;
  return pod;
}

/** Two files that always say the same, in a ConfigMap and in a Secret. */
export function setRestlessContent(objects: MemoryObjects, text: string): void {
  objects.setConfigMap("settings", { a: text, b: text });
  objects.setSecret("keys", { a: text, b: text });
}
