import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import type { Server } from "node:net";
import { dirname } from "node:path";
import type { Logger } from "@fjord/base";
import { claimName } from "../../machine/claimed-name.ts";
import { parseRange } from "./addresses.ts";
import { PodRangeInUse } from "./errors.ts";

/** Those that a node tries where it is given none: 127.88.0.0/16, then 127.89.0.0/16, ... */
const CANDIDATES = Array.from({ length: 32 }, (_, index) => `127.${88 + index}.0.0/16`);

const NAME = "fjord-pod-range/";

export interface PodRangeOptions {
  /** Undefined: one that no other node of this machine uses. */
  readonly wanted?: string;
  /** Where the choice is remembered: pods keep their addresses over restarts of the node. */
  readonly file: string;
  readonly logger: Logger;
}

/** A range of addresses that is this process' alone among the nodes of the machine, until it ends. */
export class PodRange {
  readonly cidr: string;
  readonly #claim: Server;

  private constructor(cidr: string, claim: Server) {
    this.cidr = cidr;
    this.#claim = claim;
  }

  static async claim({ wanted, file, logger }: PodRangeOptions): Promise<PodRange> {
    if (wanted !== undefined) {
      const claim = await claimRange(wanted);
      if (claim === undefined) throw new PodRangeInUse({ range: wanted });
      return new PodRange(wanted, claim);
    }
    const before = (await readFile(file, "utf8").catch(() => "")).trim();
    for (const range of CANDIDATES.includes(before) ? [before, ...CANDIDATES] : CANDIDATES) {
      // Pods of a node that is being restarted hold no claim, but they listen.
      if (range !== before && (await isListenedOn(range))) continue;
      const claim = await claimRange(range);
      if (claim === undefined) continue;
      if (range !== before) await remember(file, range);
      if (range !== (before || CANDIDATES[0])) {
        logger.info("another node uses the usual addresses for pods: taking others", { range });
      }
      return new PodRange(range, claim);
    }
    throw new PodRangeInUse({ range: `each of ${CANDIDATES[0]} to ${CANDIDATES.at(-1)}` });
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.#claim.close(() => resolve()));
  }
}

async function claimRange(range: string): Promise<Server | undefined> {
  // A range that is none is told before anything else.
  parseRange(range);
  const claim = await claimName(`${NAME}${range}`);
  if (claim === undefined) return undefined;
  const others = (await claimed()).filter((other) => other !== range && overlap(other, range));
  if (others.length === 0) return claim;
  claim.close();
  return undefined;
}

/** The ranges of all nodes of this machine; more exactly of its network namespace, whose addresses they are. */
async function claimed(): Promise<string[]> {
  const table = await readFile("/proc/net/unix", "utf8").catch(() => "");
  const names = table.split("\n").flatMap((line) => line.split(`@${NAME}`)[1]?.trim() ?? []);
  return [...new Set(names)].filter(isRange);
}

async function isListenedOn(range: string): Promise<boolean> {
  const table = await readFile("/proc/net/tcp", "utf8").catch(() => "");
  const { first, count } = parseRange(range);
  return table.split("\n").some((line) => {
    // `  12: 0100587F:1F90 00000000:0000 0A`: the address in the machine's byte order, and the state.
    const [, hex, state] = /^\s*\d+: ([0-9A-F]{8}):\S+ \S+ ([0-9A-F]{2})/.exec(line) ?? [];
    if (hex === undefined || state !== LISTENS) return false;
    const place = Buffer.from(hex, "hex").readUInt32LE() - first;
    return place >= 0 && place < count;
  });
}

const LISTENS = "0A";

function isRange(text: string): boolean {
  try {
    parseRange(text);
    return true;
  } catch {
    return false;
  }
}

function overlap(a: string, b: string): boolean {
  const [one, other] = [parseRange(a), parseRange(b)];
  return one.first < other.first + other.count && other.first < one.first + one.count;
}

async function remember(file: string, range: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await writeFile(`${file}.new`, `${range}\n`);
  await rename(`${file}.new`, file);
}
