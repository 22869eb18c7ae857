import type { WireguardPeerState, WireguardState } from "./wireguard-change.ts";

/** One call of `wg set`: what stands behind the interface's name, and what is read from standard input. */
export interface WireguardCall {
  readonly args: readonly string[];
  /** The private key, which is nobody's business who lists processes. */
  readonly input?: string;
}

/** Characters of one command line: the kernel takes 2 MB, with the environment. */
const LONGEST = 64 << 10;

/** Lines of a `set` operation of WireGuard's own protocol, as calls of `wg set`, in the same order. */
export function wireguardCalls(lines: readonly string[]): WireguardCall[] {
  const calls: { args: string[]; length: number; input?: string }[] = [];
  const begin = () => {
    const call: (typeof calls)[number] = { args: [], length: 0 };
    calls.push(call);
    return call;
  };
  for (const part of parts(lines)) {
    const length = part.args.reduce((sum, arg) => sum + arg.length + 1, 0);
    const last = calls.at(-1);
    const call = last === undefined || last.length + length > LONGEST ? begin() : last;
    call.args.push(...part.args);
    call.length += length;
    if (part.input !== undefined) call.input = part.input;
  }
  return calls.map(({ args, input }) => ({ args, ...(input !== undefined && { input }) }));
}

/** What must stay together: the interface's own, and each peer. */
function parts(lines: readonly string[]): { args: string[]; input?: string }[] {
  const own: { args: string[]; input?: string } = { args: [] };
  const all = [own];
  let args = own.args;
  let ranges: string[] | undefined;
  const close = () => {
    if (ranges !== undefined) args.push("allowed-ips", ranges.join(","));
    ranges = undefined;
  };
  for (const line of lines) {
    const at = line.indexOf("=");
    const [key, value] = [line.slice(0, at), line.slice(at + 1)];
    if (key === "private_key") {
      own.args.push("private-key", "/proc/self/fd/0");
      own.input = `${base64(value)}\n`;
    } else if (key === "listen_port") own.args.push("listen-port", value);
    else if (key === "public_key") {
      close();
      args = ["peer", base64(value)];
      all.push({ args });
    } else if (key === "remove") args.push("remove");
    else if (key === "endpoint") args.push("endpoint", value);
    else if (key === "persistent_keepalive_interval") args.push("persistent-keepalive", value);
    else if (key === "replace_allowed_ips") ranges = [];
    else if (key === "allowed_ip") ranges = [...(ranges ?? []), value];
  }
  close();
  return all.filter((part) => part.args.length > 0);
}

/** Reads what `wg show NAME dump` prints. */
export function parseWireguardDump(text: string): WireguardState {
  const [own = "", ...lines] = text.split("\n").filter((line) => line !== "");
  const [privateKey = "", , listenPort = "0"] = own.split("\t");
  const peers = new Map<string, WireguardPeerState>();
  for (const line of lines) {
    const [key = "", , endpoint = "", ranges = "", handshake, received, sent, keepalive] = line.split("\t");
    const publicKey = hex(key);
    peers.set(publicKey, {
      publicKey,
      ...(endpoint !== NONE && { endpoint }),
      ranges: ranges === NONE ? [] : ranges.split(",").map(withoutFullLength),
      handshakeSeconds: Number(handshake),
      receivedBytes: Number(received),
      sentBytes: Number(sent),
      keepaliveSeconds: keepalive === "off" ? 0 : Number(keepalive),
    });
  }
  return { privateKey: privateKey === NONE ? "" : hex(privateKey), listenPort: Number(listenPort), peers };
}

const NONE = "(none)";

function withoutFullLength(range: string): string {
  return range.includes(":") ? range.replace(/\/128$/, "") : range.replace(/\/32$/, "");
}

const hex = (key: string) => Buffer.from(key, "base64").toString("hex");
const base64 = (key: string) => Buffer.from(key, "hex").toString("base64");
