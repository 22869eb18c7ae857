import { createServer } from "node:net";
import type { Random } from "@fjord/base";
import { Claims } from "./claims.ts";
import { NoFreePortError } from "./errors.ts";

// Below the range from which Linux takes the ports of outgoing connections: those come and go between look and use.
const low = 20_000;
const high = 32_767;

/** Distinct ports on which nothing listens now, and that nobody else has chosen who will listen there soon. */
export async function freePorts(count: number, address: string, random: Random): Promise<number[]> {
  const ports = new Set<number>();
  const claims = new Claims();
  for (let tries = 0; ports.size < count && tries < 200 + count * 4; tries++) {
    const port = low + Math.floor(random() * (high - low + 1));
    if (!ports.has(port) && (await isFree(port, address)) && claims.take(`port-${port}`)) ports.add(port);
  }
  if (ports.size < count) throw new NoFreePortError({ address, low, high });
  return [...ports];
}

/** A port for something that a test is about to start. */
export async function freePort(): Promise<number> {
  const [port = 0] = await freePorts(1, "127.0.0.1", Math.random);
  return port;
}

function isFree(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
