/**
 * The part of an agent that carries packets, as a process of its own, which tests start in network namespaces. Its connections are plain TCP: what agents have around
 * theirs is tested elsewhere. `OWN-ADDRESS GATEWAY-ADDRESS listen:PORT|dial:HOST:PORT`; it prints the UDP port that it takes packets at.
 */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { silentLogger, systemClock } from "@fjord/base";
import { TcpLink } from "./tcp-link.ts";
import { noTcpMetrics } from "./tcp-metrics.ts";

const [address = "", gateway = "", what = ""] = process.argv.slice(2);
const [side, host = "", port] = what.split(":");
const socket = createSocket("udp4");
socket.bind({ address, port: 0 });
await once(socket, "listening");
const link = new TcpLink({
  site: "peer",
  socket,
  gateway: () => ({ address: gateway, port: 51_820 }),
  connect: async (signal) => {
    if (side !== "dial") throw new Error("the peer dials");
    const stream = connect({ host, port: Number(port) });
    await once(stream, "connect", { signal });
    return stream;
  },
  clock: systemClock,
  logger: silentLogger,
  metrics: noTcpMetrics,
});
if (side === "listen") {
  const server = createServer((stream) => link.accept(stream)).listen(Number(host));
  await once(server, "listening");
}
process.stdout.write(`${socket.address().port}\n`);
