/** A module of a kernel, and where its file is below the folder of modules. */
export interface ModuleFile {
  readonly name: string;
  readonly path: string;
}

/** In which order modules are put into a kernel, with all that they need; `dependencies` is the text of `modules.dep`. What is not there is built in. */
export function moduleOrder(dependencies: string, wanted: readonly string[]): ModuleFile[] {
  const needs = new Map<string, readonly string[]>();
  for (const line of dependencies.split("\n")) {
    const [path = "", needed = ""] = line.split(":");
    if (path !== "") needs.set(path, needed.split(" ").filter(Boolean));
  }
  const paths = new Map([...needs.keys()].map((path) => [nameOf(path), path]));
  const order = new Set<string>();
  const add = (path: string) => {
    if (order.has(path)) return;
    for (const needed of needs.get(path) ?? []) add(needed);
    order.add(path);
  };
  for (const name of wanted) {
    const path = paths.get(name);
    if (path !== undefined) add(path);
  }
  return [...order].map((path) => ({ name: nameOf(path), path }));
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1).replace(/\.ko.*$/, "");
}
