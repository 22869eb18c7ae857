export * from "./account-kubeconfig.ts";
export * from "./continuum.ts";
export * from "./fjord-command.ts";
export * from "./site-agent.ts";
