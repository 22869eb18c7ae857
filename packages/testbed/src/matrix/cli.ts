// `npm run matrix`: links between all sorts of sites, on real nodes with real containers.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describeError } from "@fjord/base";
import { Command, CommanderError, Option } from "commander";
import { describeProgress, ensurePrograms } from "../binaries/index.ts";
import { table } from "../commands/table.ts";
import { allowInotify } from "../nodes/inotify.ts";
import { kubeRouterSkip, networkSkip, realNodesSkip } from "../nodes/testing.ts";
import { type IpFamilies, ipFamilies } from "../site-layout.ts";
import { MatrixBed } from "./matrix-bed.ts";
import { type Cell, matrixTable, type Ranges, rangesOf, type Topology, topologies, withCells } from "./matrix-cell.ts";
import { matrixPage } from "./matrix-page.ts";
import { tryTopology } from "./trials.ts";

interface Options {
  ranges?: Ranges;
  families?: IpFamilies;
  topology?: Topology;
  write: boolean;
}

const docs = fileURLToPath(new URL("../../../../docs/", import.meta.url));
const say = (text: string) => void process.stdout.write(`${text}\n`);

const program = new Command("matrix")
  .description("Links between sites of all sorts: a cell for each sort, with what has to be answered and what refused")
  .addOption(new Option("--ranges <sort>", "only these").choices([...rangesOf]))
  .addOption(new Option("--families <sort>", "only these").choices([...ipFamilies]))
  .addOption(new Option("--topology <sort>", "only this").choices([...topologies]))
  .option("--no-write", "leave docs/matrix.json and docs/matrix.md as they are")
  .exitOverride()
  .action(run);

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode;
  else {
    process.exitCode = 1;
    process.stderr.write(`error: ${describeError(error)}\n`);
  }
}

async function run(options: Options): Promise<void> {
  const progress = (event: Parameters<typeof describeProgress>[0]) => say(describeProgress(event));
  await ensurePrograms({ env: process.env, sets: ["control-plane", "nodes", "network", "kube-router"], progress });
  const lacking = realNodesSkip() || networkSkip() || kubeRouterSkip();
  if (lacking) throw new Error(lacking);
  // Nodes need more of them than many systems allow.
  const giveBack = allowInotify();
  if (giveBack !== undefined) process.once("exit", giveBack);
  const cells: Cell[] = [];
  for (const ranges of options.ranges ? [options.ranges] : rangesOf)
    for (const families of options.families ? [options.families] : ipFamilies)
      cells.push(...(await tryBed(ranges, families, options)));
  say("");
  const [head = [], ...rows] = matrixTable(cells);
  say(table(head, rows));
  for (const { ranges, families, topology, traffic, reason } of cells.filter(({ passed }) => !passed))
    say(`${ranges}, ${families}, ${topology}, ${traffic}: ${reason}`);
  const failed = cells.filter(({ passed }) => !passed).length;
  say(`${cells.length - failed} of ${cells.length} cells passed`);
  if (failed > 0) process.exitCode = 1;
}

async function tryBed(ranges: Ranges, families: IpFamilies, { topology, write }: Options): Promise<Cell[]> {
  const cells: Cell[] = [];
  say(`${ranges}, ${families}: starting three sites`);
  await using bed = await MatrixBed.start(ranges, families);
  for (const each of topology ? [topology] : topologies) {
    const found = await tryTopology(bed, ranges, each);
    for (const cell of found) say(`${ranges}, ${families}, ${each}, ${cell.traffic}: ${outcome(cell)}`);
    cells.push(...found);
    if (write) await save(found);
  }
  return cells;
}

function outcome({ passed, reason, way, answered, refused }: Cell): string {
  return passed ? `ok, ${answered} answered, ${refused} refused, ${way}` : `FAILED: ${reason}`;
}

/** After each topology: a run that is cut short has done something, too. */
async function save(cells: readonly Cell[]): Promise<void> {
  const file = join(docs, "matrix.json");
  const before = JSON.parse(await readFile(file, "utf8").catch(() => "[]")) as Cell[];
  const all = withCells(before, cells);
  await writeFile(file, `${JSON.stringify(all, undefined, 2)}\n`);
  await writeFile(join(docs, "matrix.md"), matrixPage(all));
}
