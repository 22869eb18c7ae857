import { NAMESPACES } from "./topology.ts";
import type { PodsStrategy, UserAction, Workload } from "./wishes.ts";

/** What users have asked of one namespace so far. */
export interface NamespaceModel {
  readonly site: string;
  readonly name: string;
  readonly offloaded: PodsStrategy | undefined;
  readonly workloads: ReadonlyMap<string, Workload>;
  /** Names of bare pods that may have been deleted by what users asked for: nobody makes them again. */
  readonly doubtful: ReadonlySet<string>;
}

/** What users have asked for so far, and nothing else: reality has to become this. */
export type Model = ReadonlyMap<string, NamespaceModel>;

export function emptyModel(): Model {
  return new Map(NAMESPACES.map(({ site, name }) => [name, emptyNamespace(site, name)]));
}

export function workloadKey({ kind, name }: Pick<Workload, "kind" | "name">): string {
  return `${kind}/${name}`;
}

/** The model after one more wish. */
export function after(model: Model, action: UserAction): Model {
  if (action.do === "resize") return model;
  if (action.do === "stand") {
    if (action.standing !== "Drained") return model;
    return new Map([...model].map(([name, space]) => [name, space.site === action.consumer ? doubted(space) : space]));
  }
  const { name } = action.in;
  const space = model.get(name) ?? emptyNamespace(action.in.site, name);
  return new Map(model).set(name, changed(space, action));
}

function changed(space: NamespaceModel, action: Exclude<UserAction, { do: "resize" | "stand" }>): NamespaceModel {
  switch (action.do) {
    case "put":
    case "replace": {
      const doubtful = new Set(space.doubtful);
      if (action.do === "replace") doubtful.delete(action.what.name);
      return { ...space, doubtful, workloads: new Map(space.workloads).set(workloadKey(action.what), action.what) };
    }
    case "remove": {
      const workloads = new Map(space.workloads);
      workloads.delete(workloadKey(action.what));
      return { ...space, workloads };
    }
    case "offload":
      return { ...space, offloaded: action.pods };
    case "unoffload":
      return { ...doubted(space), offloaded: undefined };
    case "renew":
      return emptyNamespace(space.site, space.name);
  }
}

function doubted(space: NamespaceModel): NamespaceModel {
  const pods = [...space.workloads.values()].filter(({ kind }) => kind === "Pod").map(({ name }) => name);
  return { ...space, doubtful: new Set([...space.doubtful, ...pods]) };
}

function emptyNamespace(site: string, name: string): NamespaceModel {
  return { site, name, offloaded: undefined, workloads: new Map(), doubtful: new Set() };
}
