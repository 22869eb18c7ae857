import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";
import type { NetworkNamespaces } from "./network-namespaces.ts";

const PORT = 7000;

/** Answers by TCP and UDP with the address that it was asked from, and prints what it was told and by whom. */
const SERVER = `
const text = (address, message) => JSON.stringify({ from: address.replace("::ffff:", ""), message }) + "\\n";
const udp = require("node:dgram").createSocket("udp6");
udp.on("message", (data, { address, port }) => {
  process.stdout.write(text(address, String(data)));
  udp.send(address.replace("::ffff:", ""), port, address);
});
const tcp = require("node:net").createServer((socket) => {
  socket.on("error", () => {});
  socket.write(socket.remoteAddress.replace("::ffff:", "") + "\\n");
  socket.pipe(socket);
});
udp.bind(${PORT}, () => tcp.listen(${PORT}, "::", () => console.log("ready")));`;

/** Asks by what its arguments say, and prints the answer. */
const CLIENT = `
const [proto, host, from, given, ms] = process.argv.slice(1);
const message = given.startsWith("x*") ? "x".repeat(Number(given.slice(2))) : given;
const end = (text) => { process.stdout.write(text); process.exit(0); };
if (ms > 0) setTimeout(() => end("nothing"), Number(ms));
if (proto === "udp") {
  const socket = require("node:dgram").createSocket(host.includes(":") ? "udp6" : "udp4");
  socket.on("message", (data) => end(String(data)));
  socket.on("error", (error) => end(error.code));
  const send = () => socket.send(message, ${PORT}, host);
  // The first ones may come before the link is up.
  socket.bind(0, from || undefined, () => { send(); if (ms === "0") setInterval(send, 300); });
} else {
  const begin = () => {
    const socket = require("node:net").connect({ host, port: ${PORT}, localAddress: from || undefined });
    let got = "";
    socket.setEncoding("utf8");
    socket.on("connect", () => socket.end(message));
    socket.on("data", (data) => { got += data; });
    socket.on("end", () => {
      const at = got.indexOf("\\n");
      end(got.slice(at + 1) === message ? got.slice(0, at) : "spoilt after " + got.length);
    });
    socket.on("error", (error) => end(error.code));
  };
  begin();
}`;

/** Sends numbered packets until told to stop, and says then how many. */
const STREAM = `
const [host, everyMs] = process.argv.slice(1);
const socket = require("node:dgram").createSocket(host.includes(":") ? "udp6" : "udp4");
let count = 0;
const timer = setInterval(() => socket.send("packet " + count++, ${PORT}, host, () => {}), Number(everyMs));
console.log("ready");
process.stdin.on("end", () => { clearInterval(timer); console.log(count); process.exit(0); }).resume();`;

/** Holds connections that each say something every moment, until told to stop; says then for how long each heard nothing at most, or why it broke. */
const HOLD = `
const [host, count, everyMs] = process.argv.slice(1);
const held = Array.from({ length: Number(count) }, () => {
  const socket = require("node:net").connect({ host, port: ${PORT} });
  const one = { socket, at: Date.now(), longest: 0, broken: "" };
  const heard = () => { one.longest = Math.max(one.longest, Date.now() - one.at); one.at = Date.now(); };
  socket.on("data", heard);
  socket.on("error", (error) => { one.broken = error.code; });
  return { ...one, get: () => { heard(); return one.broken || one.longest; }, socket };
});
const timer = setInterval(() => { for (const { socket } of held) socket.write("still there\\n"); }, Number(everyMs));
let open = 0;
for (const { socket } of held) socket.once("data", () => { if (++open === held.length) console.log("ready"); });
process.stdin.on("end", () => { console.log(JSON.stringify(held.map(({ get }) => get()))); process.exit(0); }).resume();`;

/** What a pod was told, and by whom. */
export interface Heard {
  readonly from: string;
  readonly message: string;
}

export interface Question {
  readonly proto?: "tcp" | "udp";
  /** The source address. @default the namespace's own choice */
  readonly from?: string;
  /** `x*300000` stands for so many of them. @default "hello" */
  readonly message?: string;
  /** How long an answer is waited for; 0 is forever, by asking again. @default 0 */
  readonly patienceMs?: number;
}

/** A process in a network namespace that answers, and asks others. */
export class EchoPod {
  readonly heard: Heard[] = [];
  readonly #namespaces: NetworkNamespaces;
  readonly #name: string;

  private constructor(namespaces: NetworkNamespaces, name: string) {
    this.#namespaces = namespaces;
    this.#name = name;
  }

  static async start(namespaces: NetworkNamespaces, name: string): Promise<EchoPod> {
    const pod = new EchoPod(namespaces, name);
    const child = namespaces.spawn(name, process.execPath, "-e", SERVER);
    let rest = "";
    await new Promise<void>((resolve, reject) => {
      child.once("exit", (code) => reject(new Error(`the process of ${name} ended with ${code}`)));
      child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
        const lines = (rest + chunk).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) {
          if (line === "ready") resolve();
          else pod.heard.push(JSON.parse(line) as Heard);
        }
      });
    });
    return pod;
  }

  /** Sends numbered packets (`packet 0`, ...) until it is ended, which tells how many were sent. */
  async stream(host: string, everyMs: number): Promise<{ end(): Promise<number> }> {
    const { end } = await this.#until("ready", STREAM, host, String(everyMs));
    return { end: async () => Number(await end()) };
  }

  /** Runs a script until it says a word; its end is when its input ends, and gives its last line. */
  async #until(word: string, script: string, ...args: string[]): Promise<{ end(): Promise<string> }> {
    const [program = "", ...prefix] = this.#namespaces.prefix(this.#name);
    const child = spawn(program, [...prefix, process.execPath, "-e", script, "--", ...args], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    while (!said.startsWith(word)) await once(child.stdout, "data");
    return {
      end: async () => {
        const ended = once(child, "close");
        child.stdin.end();
        await ended;
        return said.trim().split("\n").at(-1) ?? "";
      },
    };
  }

  /**
   * Holds so many connections, over which something goes both ways every moment, until it is ended. That tells for how many milliseconds each
   * has heard nothing at most, or why it has broken.
   */
  async hold(host: string, count: number, everyMs = 50): Promise<{ end(): Promise<(number | string)[]> }> {
    const { end } = await this.#until("ready", HOLD, host, String(count), String(everyMs));
    return { end: async () => JSON.parse(await end()) as (number | string)[] };
  }

  /** The address that the other one sees, or why there is no answer. */
  async ask(host: string, question: Question = {}): Promise<string> {
    const { proto = "tcp", from = "", message = "hello", patienceMs = 0 } = question;
    const [program = "", ...prefix] = this.#namespaces.prefix(this.#name);
    const args = [...prefix, process.execPath, "-e", CLIENT, "--", proto, host, from, message, String(patienceMs)];
    const { stdout } = await promisify(execFile)(program, args, { timeout: 60_000 });
    return stdout;
  }
}
