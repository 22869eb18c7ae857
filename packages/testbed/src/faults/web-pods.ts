import { eventually } from "../acceptance/acceptance-bed.ts";
import { deployment } from "../acceptance/workloads.ts";
import type { FaultBed, PlanJson } from "./fault-bed.ts";
import { Flows } from "./flows.ts";
import { AWAY, HOME } from "./sides.ts";
import { StreamPod } from "./stream-pod.ts";
import { PATH, PORT, SERVER } from "./who-server.ts";

/** A pod by the name that it has everywhere, the site that it runs at, and its address there. */
export interface Member {
  readonly name: string;
  readonly site: string;
  readonly node: string;
  readonly address: string;
}

/** The pods of a Deployment with a Service, of which one is away and the others are at home, on a node each. */
export class WebPods implements Disposable {
  readonly #bed: FaultBed;
  readonly #streams = new Map<string, StreamPod>();

  constructor(bed: FaultBed) {
    this.#bed = bed;
  }

  async deploy(): Promise<void> {
    const { bed } = this.#bed;
    const workload = deployment("web", { namespace: "shop", replicas: 3, spread: true, command: SERVER });
    const spec = { selector: { app: "web" }, ports: [{ port: PORT }] };
    const service = { apiVersion: "v1", kind: "Service", metadata: { name: "web", namespace: "shop" }, spec };
    await bed.apply(HOME, workload, service);
    await bed.rolledOut(HOME, "shop", "deployment/web");
  }

  async members(): Promise<Member[]> {
    const { bed } = this.#bed;
    const { items } = await bed.get<{ items: PodJson[] }>(HOME, "pods", "-n=shop", "--selector=app=web");
    const twin = await bed.twin(HOME, "shop");
    const guests = await bed.get<{ items: PodJson[] }>(AWAY, "pods", `-n=${twin}`, "--selector=app=web");
    return items
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata, spec, status }) => {
        const guest = guests.items.find((each) => each.metadata.name === metadata.name);
        const of = guest ?? { spec, status };
        return {
          name: metadata.name,
          site: guest === undefined ? HOME : AWAY,
          node: of.spec.nodeName,
          address: of.status.podIP,
        };
      });
  }

  /** What a site calls a pod's address. Ranges are of 16 bits. */
  async called(at: string, { site, address }: Member): Promise<string> {
    if (at === site) return address;
    const [{ called = "" } = {}] = (await this.#bed.planOf(at)).spec.peer;
    return [...called.split(".").slice(0, 2), ...address.split(".").slice(2)].join(".");
  }

  /** Flows between the pod that is away and one at home, which is not on the node that carries the links. */
  async flows(): Promise<Flows> {
    const members = await eventually("three pods have addresses", async () => {
      const found = await this.members();
      const isWhole = found.length === 3 && found.every(({ address }) => address !== undefined);
      return isWhole && found.filter(({ site }) => site === AWAY).length === 1 && found;
    });
    const away = members.find(({ site }) => site === AWAY) as Member;
    const carrying = await this.#bed.gatewayOf(HOME);
    const home = members.find(({ site, node }) => site === HOME && node !== carrying.name) as Member;
    const twin = await this.#bed.bed.twin(HOME, "shop");
    const [here, there] = await Promise.all([this.#serviceAddress(HOME, "shop"), this.#serviceAddress(AWAY, twin)]);
    const end = async (at: string, own: Member, other: Member, service: string) => ({
      pod: await this.stream(own),
      other: await this.called(at, other),
      service: { host: service, port: PORT, path: PATH },
      endpoints: await Promise.all(
        members
          .filter((each) => each !== own)
          .map(async (each) => ({
            name: each.name,
            node: each.node,
            host: await this.called(at, each),
            port: PORT,
            path: PATH,
          })),
      ),
    });
    const flows = new Flows(await end(HOME, home, away, here), await end(AWAY, away, home, there));
    flows.begin();
    return flows;
  }

  async stream({ node, address }: Member): Promise<StreamPod> {
    const key = `${node} ${address}`;
    const known = this.#streams.get(key);
    if (known?.isAlive) return known;
    const stream = await StreamPod.start(this.#bed.node(node), address);
    this.#streams.set(key, stream);
    return stream;
  }

  #serviceAddress(site: string, space: string): Promise<string> {
    return this.#bed.bed.kubectl(site, `-n=${space}`, "get", "service", "web", "--output=jsonpath={.spec.clusterIP}");
  }

  /** Until the Deployment has its three pods, one of them away, and both sites agree on names. */
  async settled(): Promise<void> {
    await eventually(
      "all pods run, and both sites agree",
      async () => {
        const members = await this.members();
        const isWhole = members.length === 3 && members.filter(({ site }) => site === AWAY).length === 1;
        if (!isWhole || members.some(({ address }) => address === undefined))
          throw new Error(`pods are ${JSON.stringify(members)}${await this.#failedPods()}`);
        const ready = await this.#bed.bed.kubectl(
          HOME,
          "-n=shop",
          "get",
          "deployment",
          "web",
          `--output=jsonpath=${READY}`,
        );
        if (ready !== "3") throw new Error(`${ready} pods are ready`);
        const plans = await Promise.all([HOME, AWAY].map((name) => this.#bed.planOf(name)));
        const [one, other] = plans as [PlanJson, PlanJson];
        if (!agree(one, other) || !agree(other, one)) throw new Error(`plans are ${JSON.stringify(plans)}`);
        return true;
      },
      240_000,
    );
  }

  /** What is said of pods that have failed, at home and elsewhere. */
  async #failedPods(): Promise<string> {
    const failed = [
      "--field-selector=status.phase=Failed",
      "--output=jsonpath={range .items[*]}{.metadata}{.status}{end}",
    ];
    const told = [HOME, AWAY].map((name) => this.#bed.bed.kubectl(name, "get", "pods", "--all-namespaces", ...failed));
    const [home, away] = await Promise.all(told);
    return home === "" && away === "" ? "" : `; failed at home: ${home}; elsewhere: ${away}`;
  }

  /** Every pod that is reached by a name is the one that has it. */
  async everyoneIsMeant(): Promise<void> {
    const members = await this.members();
    for (const from of members)
      for (const to of members) {
        if (from === to) continue;
        const url = `http://${await this.called(from.site, to)}:${PORT}${PATH}`;
        const ask = ["timeout", "5", "wget", "-q", "-O", "-", url];
        const heard = await eventually(`${to.name} answers ${from.name}`, () =>
          this.#bed.bed.kubectl(HOME, "-n=shop", "exec", from.name, "--", ...ask),
        );
        if (heard.trim() !== to.name) throw new Error(`${url} is ${heard.trim()}, and not ${to.name}`);
      }
  }

  [Symbol.dispose](): void {
    for (const stream of this.#streams.values()) stream[Symbol.dispose]();
  }
}

const READY = "{.status.readyReplicas}";

/** Whether what one calls the other's ranges is what that believes to be called. */
function agree({ spec: { own } }: PlanJson, { spec: { peer } }: PlanJson): boolean {
  return own.every(
    ({ range, called }) => called !== undefined && peer.some((each) => each.range === range && each.called === called),
  );
}

interface PodJson {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
  readonly spec: { readonly nodeName: string };
  readonly status: { readonly podIP: string };
}
