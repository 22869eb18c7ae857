import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { NetworkNamespaces } from "../namespaces/index.ts";
import { WireguardSession } from "./wireguard-session.ts";

/** Sends and hears datagrams in a network namespace, as lines: an address, a port, and bytes in base64. */
const RELAY = `
const socket = require("node:dgram").createSocket("udp4");
socket.on("error", (error) => console.error(String(error)));
socket.on("message", (bytes) => console.log(bytes.toString("base64")));
socket.bind({ port: Number(process.argv[1]), address: process.argv[2] }, () => {
  console.log("ready");
  require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const [host, port, bytes] = line.split(" ");
    socket.send(Buffer.from(bytes || "", "base64"), Number(port), host, () => {});
  }).on("close", () => process.exit(0));
});`;

/** A peer that has a good key, and sends whatever it likes over its link. */
export class HostilePeer implements Disposable {
  readonly session: WireguardSession;
  readonly #child: ChildProcess;
  readonly #to: { readonly host: string; readonly port: number };
  /** What has come over the link. */
  readonly heard: Buffer[] = [];

  private constructor(child: ChildProcess, session: WireguardSession, to: { host: string; port: number }) {
    this.#child = child;
    this.session = session;
    this.#to = to;
    child.stdin?.on("error", () => {});
  }

  static async start(
    namespaces: NetworkNamespaces,
    name: string,
    options: { privateKey: string; victimKey: string; victim: string; address: string },
  ): Promise<HostilePeer> {
    const [program = "", ...prefix] = namespaces.prefix(name);
    const args = [...prefix, process.execPath, "-e", RELAY, "--", "51820", options.address];
    const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
    const session = new WireguardSession(options.privateKey, options.victimKey);
    const peer = new HostilePeer(child, session, { host: options.victim, port: 51_820 });
    await new Promise<void>((resolve, reject) => {
      child.once("exit", (code) => reject(new Error(`the socket in ${name} ended with ${code}`)));
      createInterface({ input: child.stdout as NodeJS.ReadableStream }).on("line", (line) => {
        if (line === "ready") resolve();
        else peer.#take(Buffer.from(line, "base64"));
      });
    });
    return peer;
  }

  /** Until there is a session. */
  async open(): Promise<void> {
    for (const end = Date.now() + 30_000; !this.session.isUp; ) {
      if (Date.now() > end) throw new Error("the victim does not answer");
      this.datagram(this.session.initiation());
      for (let i = 0; i < 20 && !this.session.isUp; i++) await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Over the link. */
  send(packet: Buffer): void {
    this.datagram(this.session.wrap(packet));
  }

  /** Past the link, to a port of the victim. */
  datagram(bytes: Buffer, port = this.#to.port): void {
    this.#child.stdin?.write(`${this.#to.host} ${port} ${bytes.toString("base64")}\n`);
  }

  #take(message: Buffer): void {
    if (!this.session.isUp) {
      this.session.answered(message);
      return;
    }
    const packet = this.session.unwrap(message);
    if (packet !== undefined && packet.length > 0) this.heard.push(packet);
  }

  [Symbol.dispose](): void {
    this.#child.kill("SIGKILL");
  }
}
