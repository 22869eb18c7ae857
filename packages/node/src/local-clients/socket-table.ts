import { endianness } from "node:os";
import type { LocalConnection, Place } from "./local-connection.ts";

/** Of a socket that nobody has open any more. */
const NO_INODE = "0";
const ANYWHERE = "00000000:0000";

/** The inodes of sockets in a table of the kernel's, such as /proc/net/tcp, by where they are and where they lead. */
export type SocketTable = ReadonlyMap<string, string>;

/** `  12: 0100587F:1F90 0200587F:9C40 01 00000000:00000000 00:00000000 00000000  1000        0 48213 1 ...` */
const LINE = /^\s*\d+: (\w+:\w{4}) (\w+:\w{4}) \w\w \S+ \S+ \w+\s+\d+\s+\d+ (\d+)/;

export function parseSocketTable(text: string): SocketTable {
  const table = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [, local, remote, inode] = LINE.exec(line) ?? [];
    if (local !== undefined && remote !== undefined && inode !== undefined && inode !== NO_INODE)
      table.set(`${inFour(local)} ${inFour(remote)}`, inode);
  }
  return table;
}

/** A socket of IPv6 has addresses of IPv4 too, behind a prefix. */
function inFour(place: string): string {
  return place.replace(/^(?:0{16}F{4}0{4}|0{24})(?=\w{8}:)/, "");
}

/** The inode of the client's socket; undefined where it is not there. */
export function inodeIn(table: SocketTable, { protocol, client, server }: LocalConnection): string | undefined {
  if (protocol === "TCP") return table.get(`${placeText(client)} ${placeText(server)}`);
  // Of datagrams a socket need not say where it sends them from, or to.
  for (const local of [placeText(client), placeText({ ...client, address: "0.0.0.0" })])
    for (const remote of [placeText(server), ANYWHERE]) {
      const inode = table.get(`${local} ${remote}`);
      if (inode !== undefined) return inode;
    }
  return undefined;
}

/** As the kernel writes it: the address in the machine's byte order. */
function placeText({ address, port }: Place): string {
  const bytes = address.split(".").map(Number);
  const ordered = endianness() === "LE" ? bytes.toReversed() : bytes;
  const hex = (value: number, digits: number) => value.toString(16).toUpperCase().padStart(digits, "0");
  return `${ordered.map((byte) => hex(byte, 2)).join("")}:${hex(port, 4)}`;
}
