// Serves, from a process of its own, a watch whose events are ready-made bytes: what is measured is the client alone.
// Prints its kubeconfig's server URL as its first line and runs until its standard input closes.

import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { benchPod, WATCHED } from "./workload.ts";

const EVENTS_PER_WRITE = 8;

const events = Array.from({ length: 1_000 }, (_, index) => {
  const pod = benchPod("default", index);
  const metadata = {
    ...pod.metadata,
    uid: `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`,
    resourceVersion: String(1_000 + index),
  };
  return `${JSON.stringify({ type: "MODIFIED", object: { ...pod, metadata } })}\n`;
});
const writes = Array.from({ length: events.length / EVENTS_PER_WRITE }, (_, index) =>
  Buffer.from(events.slice(index * EVENTS_PER_WRITE, (index + 1) * EVENTS_PER_WRITE).join("")),
);

const server = createServer((request, response) => {
  response.setHeader("content-type", "application/json");
  const url = new URL(request.url ?? "/", "http://replay");
  if (url.searchParams.has("watch")) void replay(response);
  else response.end('{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}');
});

async function replay(response: ServerResponse): Promise<void> {
  response.flushHeaders();
  for (let sent = 0; sent < WATCHED; sent += EVENTS_PER_WRITE) {
    if (response.destroyed) return;
    if (!response.write(writes[(sent / EVENTS_PER_WRITE) % writes.length])) await once(response, "drain");
  }
}

server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as { port: number };
  process.stdout.write(`http://127.0.0.1:${port}\n`);
});
process.stdin.resume().on("end", () => process.exit(0));
