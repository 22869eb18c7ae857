import { fileURLToPath } from "node:url";
import type { ProcessRecord } from "./process-record.ts";
import type { SiteLayout } from "./site-layout.ts";

/** The one process of a site on Fjord's own control plane. */
export const MICROKUBE = "microkube";

const program = fileURLToPath(new URL("cli.ts", import.meta.resolve("@fjord/microkube")));

/** Its keys and certificates are those that the bed has made for the site: they are where it looks for them. */
export function microkubeProcess(layout: SiteLayout): Omit<ProcessRecord, "site" | "log" | "identity"> {
  const args = [
    program,
    "run",
    `--data-dir=${layout.directory}`,
    `--address=${layout.address}`,
    `--port=${layout.ports.apiserver}`,
    `--service-range=${layout.serviceCidr}`,
    `--pod-range=${layout.podCidr}`,
    ...layout.certificateAddresses.map((address) => `--server-name=${address}`),
    ...(layout.components === "apiserver" ? ["--no-controllers", "--no-scheduler"] : []),
  ];
  return { name: MICROKUBE, file: process.execPath, args };
}
