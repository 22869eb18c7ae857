export { LocalClients } from "./local-clients.ts";
export type { LocalConnection, LocalPod, Place, PodProcess } from "./local-connection.ts";
