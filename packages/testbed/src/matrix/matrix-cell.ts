import { type IpFamilies, ipFamilies } from "../site-layout.ts";

export const rangesOf = ["overlap", "distinct"] as const;
export const topologies = ["direct", "hub", "NAT one side", "NAT both", "symmetric NATs", "TCP only"] as const;
export const traffics = ["pod to pod", "pod to Service", "headless", "external host", "shop"] as const;
export const CELLS = rangesOf.length * ipFamilies.length * topologies.length * traffics.length;

/** Whether the two sites' pods and Services have the same ranges. */
export type Ranges = (typeof rangesOf)[number];
/** What is between the gateways of the two. */
export type Topology = (typeof topologies)[number];
/** Who asks whom over the link; the shop is the demo's application, with its front end at the other site. */
export type Traffic = (typeof traffics)[number];

/** What came of one place of the matrix: all that may be answered was, and all that may not was not. */
export interface Cell {
  readonly ranges: Ranges;
  readonly families: IpFamilies;
  readonly topology: Topology;
  readonly traffic: Traffic;
  readonly passed: boolean;
  /** How the link went. */
  readonly way?: string;
  /** Why it failed. */
  readonly reason?: string;
  /** How many requests were answered by whom they were meant for, and how many were refused as they have to be. */
  readonly answered: number;
  readonly refused: number;
}

/** Results with those of a later run in place of theirs, in the order of the matrix. */
export function withCells(before: readonly Cell[], now: readonly Cell[]): Cell[] {
  const byKey = new Map([...before, ...now].map((cell) => [keyOf(cell), cell]));
  return [...byKey.values()].sort((one, other) => placeOf(one) - placeOf(other));
}

/** A line for each pair of ranges and topology, as columns: families and traffic. */
export function matrixTable(cells: readonly Cell[]): string[][] {
  const columns = columnsOf(cells);
  const head = ["RANGES", "TOPOLOGY", ...columns.map(([families, traffic]) => `${families} ${traffic}`)];
  const rows = rangesOf.flatMap((ranges) =>
    topologies.flatMap((topology) => {
      const found = cells.filter((cell) => cell.ranges === ranges && cell.topology === topology);
      if (found.length === 0) return [];
      const marks = columns.map(([families, traffic]) => {
        const cell = found.find((each) => each.families === families && each.traffic === traffic);
        return cell === undefined ? "-" : cell.passed ? "ok" : "FAILED";
      });
      return [[ranges, topology, ...marks]];
    }),
  );
  return [head, ...rows];
}

function columnsOf(cells: readonly Cell[]): [IpFamilies, Traffic][] {
  return ipFamilies
    .filter((families) => cells.some((cell) => cell.families === families))
    .flatMap((families) => traffics.map((traffic): [IpFamilies, Traffic] => [families, traffic]));
}

function keyOf({ ranges, families, topology, traffic }: Cell): string {
  return [ranges, families, topology, traffic].join("/");
}

function placeOf({ ranges, families, topology, traffic }: Cell): number {
  const place = [rangesOf.indexOf(ranges), ipFamilies.indexOf(families)];
  return [...place, topologies.indexOf(topology), traffics.indexOf(traffic)].reduce((sum, one) => sum * 10 + one, 0);
}
