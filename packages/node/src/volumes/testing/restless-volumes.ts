// A process that makes, changes and removes the volumes of a pod without end, to be killed at any moment.
import { LocalVolumes } from "../local-volumes.ts";
import { MemoryObjects } from "./memory-objects.ts";
import { testFacts } from "./pods.ts";
import { restlessPod, setRestlessContent } from "./restless-pod.ts";

const [stateDirectory = "", uid = ""] = process.argv.slice(2);
const objects = new MemoryObjects();
const volumes = new LocalVolumes({ stateDirectory, objects, node: () => ({ name: "node-1", labels: {} }) });
const pod = restlessPod(uid);
for (let version = 0; ; version++) {
  setRestlessContent(objects, String(version));
  await volumes.ensure(pod, testFacts);
  await volumes.mounts(pod, "main", testFacts);
  setRestlessContent(objects, `${version}-changed`);
  await volumes.refresh(pod, testFacts);
  if (version === 0) process.stdout.write("begun\n");
  if (version % 3 === 2) await volumes.remove(uid);
}
