/** Where names come from. */
export type Source =
  | "sites"
  | "peers"
  | "peerings"
  | "contracts"
  | "namespaces"
  | "offloadable"
  | "offloaded"
  | "contexts"
  | "pods"
  | "services"
  | "workloads";

interface Word {
  readonly word: string;
}

const contracted: readonly Source[] = ["contracts", "peerings", "peers"];

/** What each argument of a command may be, in their order; the last holds for all that follow. */
export const argumentSources: Readonly<Record<string, readonly (readonly (Source | Word)[])[]>> = {
  peer: [["peers"], []],
  unpeer: [["peerings", "peers"], []],
  sites: [["sites"]],
  offload: [["offloadable"], []],
  unoffload: [["offloaded"], []],
  move: [["workloads"], ["peers", { word: "home" }, { word: "anywhere" }], []],
  cordon: [contracted, []],
  drain: [contracted, []],
  uncordon: [contracted, []],
  explain: [["pods", "workloads"], []],
  "network explain": [["pods"], ["pods", "services"], []],
  "network status": [["peers"]],
  "network test": [["peers"]],
  "network capture": [["peers"], []],
  logs: [["pods", "workloads"], []],
  kubectl: [["sites", "contexts"], []],
  completion: [[{ word: "bash" }, { word: "zsh" }, { word: "fish" }], []],
};

/** What the values of options may be, where they are no choices of their own. */
export const optionSources: Readonly<Record<string, Source | "files" | readonly string[]>> = {
  "--context": "contexts",
  "--peer-context": "contexts",
  "--peer-kubeconfig": "files",
  "--namespace": "namespaces",
  "--pod": "pods",
  "--kubeconfig": "files",
  "--file": "files",
  "--values": "files",
  "--state-dir": "files",
  "--page-files": "files",
  "--output": ["wide", "json", "yaml", "name", "jsonpath="],
};
