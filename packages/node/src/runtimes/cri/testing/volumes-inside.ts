// Makes and removes the volumes of a pod in the namespaces of another process: `make` prints the mounts of each container.
import { text } from "node:stream/consumers";
import type { Pod } from "@fjord/kube";
import { LocalVolumes } from "../../../volumes/index.ts";
import { MemoryObjects } from "../../../volumes/testing/memory-objects.ts";
import { testFacts } from "../../../volumes/testing/pods.ts";

const [stateDirectory = "", what] = process.argv.slice(2);
const pod: Pod = JSON.parse(await text(process.stdin));
const objects = new MemoryObjects();
const volumes = new LocalVolumes({ stateDirectory, objects, node: () => ({ name: "node-1", labels: {} }) });
if (what === "remove") await volumes.remove(pod.metadata.uid ?? "");
else {
  await volumes.ensure(pod, testFacts);
  const mounts = [];
  for (const { name } of pod.spec?.containers ?? []) mounts.push(await volumes.mounts(pod, name, testFacts));
  process.stdout.write(JSON.stringify(mounts));
}
