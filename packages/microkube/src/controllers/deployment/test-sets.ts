import type { Deployment, ReplicaSet } from "@fjord/kube";

/** A Deployment for tests of pure functions. */
export function deployment(replicas: number, spec: object = {}, status: object = {}): Deployment {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", namespace: "shop", uid: "d", generation: 1 },
    spec: {
      replicas,
      selector: {},
      template: { metadata: { labels: { app: "web" } } },
      progressDeadlineSeconds: 600,
      ...spec,
    },
    status,
  } as Deployment;
}

export interface SetSketch {
  available?: number;
  /** What the Deployment was when it last looked. */
  desired?: number;
  max?: number;
  revision?: number;
  template?: object;
}

/** `age` orders them: the greater, the older. */
export function replicaSet(name: string, replicas: number, age: number, sketch: SetSketch = {}): ReplicaSet {
  const { available = replicas, desired, max, revision, template } = sketch;
  const annotations = {
    ...(desired !== undefined && { "deployment.kubernetes.io/desired-replicas": String(desired) }),
    ...(max !== undefined && { "deployment.kubernetes.io/max-replicas": String(max) }),
    ...(revision !== undefined && { "deployment.kubernetes.io/revision": String(revision) }),
  };
  return {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: {
      name,
      uid: name,
      annotations,
      creationTimestamp: `2030-01-${String(28 - age).padStart(2, "0")}T00:00:00Z`,
    },
    spec: { replicas, selector: {}, template: template ?? {} },
    status: {
      replicas,
      readyReplicas: available,
      availableReplicas: available,
      observedGeneration: 1,
      terminatingReplicas: 0,
    },
  } as unknown as ReplicaSet;
}
