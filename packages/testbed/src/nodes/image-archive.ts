import type { Site } from "../site.ts";
import { runCommand } from "./command.ts";
import { nodeDirectory, nodeOf } from "./node-processes.ts";
import { enterFile } from "./node-scripts.ts";
import { availableSnapshotter } from "./snapshotter.ts";

/** The command by which a node's containerd takes an image archive from standard input, for pods to use. */
export function importCommand(ctr: string, snapshotter: string): string[] {
  return [ctr, "--namespace", "k8s.io", "images", "import", "--snapshotter", snapshotter, "-"];
}

/** The names of a site's real nodes, whoever has started them. */
export function realNodesOf(site: Site): string[] {
  return [...new Set(site.processes.flatMap((process) => nodeOf(process) ?? []))];
}

/** Gives an OCI or Docker archive to every real node of a site; returns the names that pods find its images by. */
export async function loadArchive(
  site: Site,
  archive: Uint8Array,
  options: { ctr: string; signal?: AbortSignal },
): Promise<string[]> {
  const snapshotter = await availableSnapshotter(site.layout.directory);
  const outputs = await Promise.all(
    realNodesOf(site).map((node) =>
      runCommand("/bin/sh", [enterFile(nodeDirectory(site.layout, node)), ...importCommand(options.ctr, snapshotter)], {
        what: `load the images on ${node}`,
        input: archive,
        ...(options.signal && { signal: options.signal }),
      }),
    ),
  );
  return [
    ...new Set(outputs.flatMap((text) => [...text.matchAll(/^unpacking (\S+)/gm)].map((match) => match[1] ?? ""))),
  ];
}
