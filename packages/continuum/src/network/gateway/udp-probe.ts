import { createSocket } from "node:dgram";
import { PROBE_PORT } from "../link-address.ts";
import type { OpenProbeSocket } from "./link-probe.ts";

/** A socket on the own address of links; refused where the node does not have it. */
export const openUdpProbe: OpenProbeSocket = (address, heard) =>
  new Promise((resolve, reject) => {
    const socket = createSocket({ type: "udp6", ipv6Only: true });
    socket.once("error", reject);
    socket.on("message", (bytes, from) => heard(bytes, from.address));
    socket.bind({ port: PROBE_PORT, address }, () => {
      socket.off("error", reject);
      // A peer that is not reached is one that does not answer.
      socket.on("error", () => {});
      resolve({
        send: (bytes, to) => socket.send(bytes, PROBE_PORT, to, () => {}),
        close: () => socket.close(),
      });
    });
  });
