import type { LinkView, SiteView } from "@fjord/agent/page-model";
import { sliceText } from "./format.ts";

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Band {
  readonly tier: string;
  readonly y: number;
  readonly height: number;
}

export interface Curve {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly path: string;
  readonly state: LinkView["state"] | "known";
  /** Where words about it stand; for all links between two sites only one has words. */
  readonly middle: { readonly x: number; readonly y: number };
  readonly words: string;
  readonly link?: LinkView;
}

export interface GraphLayout {
  readonly mode: "bands" | "tree";
  readonly width: number;
  readonly height: number;
  readonly boxes: ReadonlyMap<string, Box>;
  readonly bands: readonly Band[];
  readonly curves: readonly Curve[];
}

const TIERS = ["cloud", "edge", "device", "other"] as const;
const NARROW = 640;
const CARD = { width: 228, height: 116, gap: 28, row: 48 } as const;
const BAND = { top: 34, bottom: 30, between: 76, side: 20 } as const;

interface Drawn {
  readonly sites: readonly SiteView[];
  readonly links: Readonly<Record<string, LinkView>>;
  readonly self: string;
}

/** Where every site stands and every link runs, for a given width: bands by tier, or a tree where it is narrow. */
export function layoutGraph(drawn: Drawn, width: number): GraphLayout {
  const ordered = [...drawn.sites].sort((a, b) => a.name.localeCompare(b.name));
  const placed = width < NARROW ? tree(ordered, drawn.self, width) : bands(ordered, drawn.self, width);
  return { ...placed, width, curves: curvesOf(drawn, placed.boxes, placed.mode) };
}

type Placed = Pick<GraphLayout, "mode" | "height" | "boxes" | "bands">;

function bands(sites: readonly SiteView[], self: string, width: number): Placed {
  const boxes = new Map<string, Box>();
  const found: Band[] = [];
  const perRow = Math.max(1, Math.floor((width - 2 * BAND.side + CARD.gap) / (CARD.width + CARD.gap)));
  let y = 0;
  for (const tier of TIERS) {
    const members = sites.filter((site) => (site.tier ?? "other") === tier);
    if (members.length === 0) continue;
    const rows = rowsOf(centred(members, self), perRow);
    const height = BAND.top + rows.length * (CARD.height + CARD.row) - CARD.row + BAND.bottom;
    rows.forEach((row, index) => {
      const span = row.length * CARD.width + (row.length - 1) * CARD.gap;
      row.forEach((site, column) => {
        boxes.set(site.name, {
          x: (width - span) / 2 + column * (CARD.width + CARD.gap),
          y: y + BAND.top + index * (CARD.height + CARD.row),
          width: CARD.width,
          height: CARD.height,
        });
      });
    });
    found.push({ tier, y, height });
    y += height + BAND.between;
  }
  return { mode: "bands", height: Math.max(0, y - BAND.between), boxes, bands: found };
}

/** The own site in the middle of its tier, so that links to either side are short. */
function centred(members: readonly SiteView[], self: string): SiteView[] {
  const others = members.filter(({ name }) => name !== self);
  const own = members.filter(({ name }) => name === self);
  const half = Math.ceil(others.length / 2);
  return [...others.slice(0, half), ...own, ...others.slice(half)];
}

/** As few rows as fit, filled evenly. */
function rowsOf(members: readonly SiteView[], perRow: number): SiteView[][] {
  const count = Math.ceil(members.length / perRow);
  const each = Math.ceil(members.length / count);
  return Array.from({ length: count }, (_, row) => members.slice(row * each, (row + 1) * each));
}

const TREE = { indent: 34, height: 118, gap: 16 } as const;

function tree(sites: readonly SiteView[], self: string, width: number): Placed {
  const boxes = new Map<string, Box>();
  const own = sites.filter(({ name }) => name === self);
  const others = TIERS.flatMap((tier) => sites.filter((site) => site.name !== self && (site.tier ?? "other") === tier));
  let y = 0;
  for (const site of [...own, ...others]) {
    const indent = site.name === self ? 0 : TREE.indent;
    boxes.set(site.name, { x: indent, y, width: width - indent, height: TREE.height });
    y += TREE.height + TREE.gap;
  }
  return { mode: "tree", height: Math.max(0, y - TREE.gap), boxes, bands: [] };
}

/** One curve for each link, and a faint one to each peer that there is no agreement with. */
function curvesOf({ sites, links, self }: Drawn, boxes: ReadonlyMap<string, Box>, mode: GraphLayout["mode"]): Curve[] {
  const curves: Curve[] = [];
  const from = boxes.get(self);
  if (from === undefined) return curves;
  const exits = exitsOf(from, self, boxes);
  for (const { name } of sites) {
    const to = boxes.get(name);
    if (name === self || to === undefined) continue;
    const between = Object.entries(links).filter(
      ([, { consumer, provider }]) =>
        (consumer === self && provider === name) || (consumer === name && provider === self),
    );
    const all: [string, LinkView | undefined][] = between.length > 0 ? between : [[`known/${name}`, undefined]];
    all.forEach(([id, link], index) => {
      const aside = (index - (all.length - 1) / 2) * (mode === "tree" ? 9 : 16);
      const drawn = mode === "tree" ? branch(from, to, aside) : arc(from, to, exits.get(name) ?? 0, aside);
      const words =
        index === 0
          ? wordsFor(
              between.map(([, each]) => each),
              self,
            )
          : "";
      curves.push({ id, from: self, to: name, state: link?.state ?? "known", words, ...drawn, ...(link && { link }) });
    });
  }
  return curves;
}

/** Where on the own card the links to each site begin: in the order of the sites, so that they do not cross. */
function exitsOf(from: Box, self: string, boxes: ReadonlyMap<string, Box>): Map<string, number> {
  const exits = new Map<string, number>();
  const others = [...boxes].filter(([name]) => name !== self);
  for (const side of [others.filter(([, box]) => box.y > from.y), others.filter(([, box]) => box.y <= from.y)]) {
    const step = Math.min(38, (from.width - 50) / Math.max(1, side.length));
    const ordered = side.toSorted(([, a], [, b]) => a.x - b.x || a.y - b.y);
    for (const [index, [name]] of ordered.entries()) exits.set(name, (index - (side.length - 1) / 2) * step);
  }
  return exits;
}

/** What the links between two sites come to, in a few words. */
function wordsFor(links: readonly LinkView[], self: string): string {
  if (links.some(({ state }) => state === "broken")) return "✕ no answer";
  const [uses, gives] = [
    links.find(({ consumer }) => consumer === self),
    links.find(({ provider }) => provider === self),
  ];
  if (uses !== undefined && gives !== undefined) return `⇅ ${sliceText(uses.resources)}`;
  if (uses !== undefined) return `uses ${sliceText(uses.resources)}`;
  return gives === undefined ? "" : `gives ${sliceText(gives.resources)}`;
}

type Line = Pick<Curve, "path" | "middle">;

/** From band to band straight down or up, within a band below the cards. */
function arc(from: Box, to: Box, exit: number, aside: number): Line {
  const middleOf = (box: Box) => box.x + box.width / 2;
  const [x1, x2] = [middleOf(from) + exit + aside / 2, middleOf(to) + aside];
  if (to.y === from.y) {
    const y = from.y + from.height;
    const depth = 22 + Math.abs(aside) / 2 + Math.min(34, Math.abs(x2 - x1) / 18);
    return {
      path: `M${r(x1)} ${r(y)} C${r(x1)} ${r(y + depth)} ${r(x2)} ${r(y + depth)} ${r(x2)} ${r(y)}`,
      middle: { x: r((x1 + x2) / 2), y: r(y + depth * 0.75) },
    };
  }
  const down = to.y > from.y;
  const y1 = down ? from.y + from.height : from.y;
  const y2 = down ? to.y : to.y + to.height;
  const bend = (y2 - y1) * 0.5;
  return {
    path: `M${r(x1)} ${r(y1)} C${r(x1)} ${r(y1 + bend)} ${r(x2)} ${r(y2 - bend)} ${r(x2)} ${r(y2)}`,
    // Three quarters along, where lines that leave one card are well apart.
    middle: { x: r(0.156 * x1 + 0.844 * x2), y: r(y1 + (y2 - y1) * 0.703) },
  };
}

/** Down a trunk on the left, and round the corner into the card. */
function branch(from: Box, to: Box, aside: number): Line {
  const x = TREE.indent / 2 + aside;
  const y = to.y + to.height / 2 + aside;
  const y1 = from.y + from.height;
  return {
    path: `M${r(x)} ${r(y1)} V${r(y - 10)} Q${r(x)} ${r(y)} ${r(x + 10)} ${r(y)} H${r(to.x)}`,
    middle: { x: r(x), y: r(y - 20) },
  };
}

function r(value: number): number {
  return Math.round(value * 10) / 10;
}
