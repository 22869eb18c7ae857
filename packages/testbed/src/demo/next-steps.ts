import { NAMESPACE } from "./workload.ts";

export interface NextStepsOptions {
  /** The file to source. */
  readonly file: string;
  readonly consumer: string;
  readonly provider: string;
  /** Whether there are containers to look into. */
  readonly containers: boolean;
}

/** What to try while the demo runs: commands to copy, each with what it shows. */
export function nextSteps({ file, consumer, provider, containers }: NextStepsOptions): string {
  const inContainers: [string, string][] = [
    [`kubectl -n ${NAMESPACE} logs -f -l app=hello --prefix`, "logs of both sites as they come"],
    [`kubectl -n ${NAMESPACE} exec -it deploy/hello -- sh`, "a shell in one of the pods"],
  ];
  const commands: [string, string][] = [
    [`. ${file}`, "first, in another terminal"],
    ["fjord status", `who ${consumer} knows, and what it has agreed on`],
    ["kubectl get nodes", `${provider} is a node like any other`],
    ...(containers ? inContainers : []),
    [`kubectl -n ${NAMESPACE} scale deploy/hello --replicas=6`, "three here, three there"],
    [`kubectl --context ${provider} get pods -A`, `what ${provider} sees: its guests`],
    [`fjord cordon ${provider}`, "no new pods there; `fjord uncordon` takes them again"],
    [`fjord drain ${provider}`, "and the ones that run there come home"],
    [`fjord unoffload ${NAMESPACE}`, "the namespace comes home"],
    [`fjord unpeer ${provider}`, "and nothing is left of the peering, on either side"],
  ];
  const width = Math.max(...commands.map(([command]) => command.length).filter((length) => length < 60));
  return commands.map(([command, what]) => `  ${command.padEnd(width)}   # ${what}\n`).join("");
}
