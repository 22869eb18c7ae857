import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { NetworkNamespaces } from "./network-namespaces.ts";

/** Binds a socket, and carries what comes and goes as lines: an address, and bytes in base64. */
const RELAY = `
const [address, port] = process.argv.slice(1);
const socket = require("node:dgram").createSocket({ type: "udp6", ipv6Only: true });
socket.on("error", (error) => { console.error(String(error)); process.exit(1); });
socket.on("message", (bytes, from) => console.log(from.address + " " + bytes.toString("base64")));
socket.bind({ port: Number(port), address }, () => {
  console.log("ready");
  socket.on("error", () => {});
  require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const [to, bytes] = line.split(" ");
    socket.send(Buffer.from(bytes, "base64"), Number(port), to, () => {});
  }).on("close", () => process.exit(0));
});`;

/** A UDP socket in a network namespace, for who is not there himself: what is sent goes to the same port of others. */
export async function namespaceUdp(
  namespaces: NetworkNamespaces,
  name: string,
  { address, port }: { readonly address: string; readonly port: number },
  heard: (bytes: Buffer, from: string) => void,
): Promise<{ send(bytes: Buffer, to: string): void; close(): void }> {
  const [program = "", ...prefix] = namespaces.prefix(name);
  const child = spawn(program, [...prefix, process.execPath, "-e", RELAY, "--", address, String(port)]);
  let complaint = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaint += text;
  });
  child.stdin.on("error", () => {});
  const lines = createInterface({ input: child.stdout });
  await new Promise<void>((resolve, reject) => {
    once(child, "exit").then(([code]) => reject(new Error(`no socket in ${name} (${code}): ${complaint}`)), reject);
    lines.on("line", (line) => {
      const [from = "", bytes] = line.split(" ");
      if (bytes === undefined) resolve();
      else heard(Buffer.from(bytes, "base64"), from);
    });
  });
  return {
    send: (bytes, to) => void child.stdin.write(`${to} ${bytes.toString("base64")}\n`),
    close: () => void child.kill("SIGKILL"),
  };
}
