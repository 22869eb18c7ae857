/** What the node writes on sandboxes and containers, so that it finds it again after its own end. */
export const annotations = {
  /** Milliseconds to wait after the end of this container before the next of its name starts. */
  restartDelay: "node.fjord.dev/restart-delay",
  /** Image that the pod named when the container was made; a change of it restarts the container. */
  image: "node.fjord.dev/image",
  /** Resources as the pod gave them for the container, or for itself, as JSON. */
  resources: "node.fjord.dev/resources",
  /** Seconds that the container has to end in once its pod is no longer known. */
  grace: "node.fjord.dev/termination-grace-seconds",
  /** What the container is to its pod: `init`, `sidecar`, `main`, `ephemeral`. */
  role: "node.fjord.dev/container-role",
  /** File that the container leaves its last words in. */
  terminationMessage: "node.fjord.dev/termination-message",
  /** `spec.runtimeClassName` handler that the sandbox was made with. */
  handler: "node.fjord.dev/runtime-handler",
} as const;
