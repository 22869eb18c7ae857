import { BUSY, CLOUD, LOST } from "./demo-plan.ts";
import { shellWords } from "./shell-words.ts";

export interface NextStepsOptions {
  /** The file to source. */
  readonly file: string;
  /** Where the front end answers. */
  readonly url: string;
  /** Where the page is. */
  readonly page: string;
  /** Whether the shell has a kubectl. */
  readonly kubectl: boolean;
}

/** What to try while the demo runs: commands to copy, each with what it shows. */
export function nextSteps({ file, url, page, kubectl }: NextStepsOptions): string {
  const words = shellWords(kubectl);
  const withKubectl: [string, string][] = [
    ["kubectl get nodes", `${CLOUD} itself, and the four edges, which are nodes of it`],
    ["kubectl -n shop logs -l app=front --prefix --tail=1", "logs, from four sites"],
  ];
  const commands: [string, string][] = [
    [`. ${file}`, "first, in another terminal"],
    ["fjord sites", "who is there"],
    ["fjord status", `what ${CLOUD} has agreed on with the others`],
    ["fjord network status", "by what ways pods of the others are reached"],
    [words.pods("shop").join(" "), "NODE says at which site each pod runs"],
    ...(kubectl ? withKubectl : []),
    [`demo cut ${LOST}`, "nobody reaches it any more: look at the sites and the pods again, a few seconds later"],
    [`demo heal ${LOST}`, "and it is back"],
    [words.scale("shop/front", 8).join(" "), "two more pods of the front end: they go where there are none"],
    [words.scale("rush/crunch", 8, BUSY).join(" "), "a rush, more than that edge can do"],
    [words.pods("rush", BUSY).join(" "), "the rest is done in the cloud"],
    [words.scale("rush/crunch", 2, BUSY).join(" "), "the rush is over"],
    [`fjord drain ${CLOUD} --context ${BUSY}`, "what is left in the cloud comes home"],
    [`fjord uncordon ${CLOUD} --context ${BUSY}`, "and the cloud may be used again"],
    ["demo page", `a link to the page at ${page}, live, good for two minutes`],
  ];
  const width = Math.max(...commands.map(([command]) => command.length).filter((length) => length < 68));
  const lines = commands.map(([command, what]) => `  ${command.padEnd(width)}   # ${what}\n`);
  const without = kubectl ? "" : "\nThere is no kubectl here; any kubectl works in that terminal too.\n";
  return `The shop answers at ${url}\n\n${lines.join("")}${without}`;
}
