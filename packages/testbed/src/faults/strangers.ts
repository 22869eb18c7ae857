import { pod } from "../acceptance/workloads.ts";
import type { FaultBed } from "./fault-bed.ts";
import { AWAY, HOME } from "./sides.ts";
import { podNamespace } from "./stream-pod.ts";
import { SERVER } from "./who-server.ts";

/** A pod at each site that shares nothing with the other: nobody there is to reach it, whatever breaks. */
export class Strangers {
  readonly #bed: FaultBed;
  readonly #watched = new Set<string>();

  constructor(bed: FaultBed) {
    this.#bed = bed;
  }

  /** In the namespace `other` of the site. */
  async put(name: string): Promise<void> {
    const { bed } = this.#bed;
    await bed.apply(name, pod("stranger", { namespace: "other", command: SERVER }));
    await bed.kubectl(name, "-n=other", "wait", "--for=condition=Ready", "pod/stranger", "--timeout=150s");
  }

  /** How many packets they have been sent so far. */
  async heard(): Promise<number> {
    let heard = 0;
    for (const name of [HOME, AWAY]) {
      const { spec, status } = await this.#find(name);
      const node = this.#bed.node(spec.nodeName);
      const network = await podNamespace(node, status.podIP);
      const inside = ["nsenter", `--net=${network}`, "nft"];
      if (!this.#watched.has(network)) {
        const hook = "type filter hook input priority -400;";
        const rule = "add rule inet witness in ct direction original counter";
        const witness = `add table inet witness; add chain inet witness in { ${hook} }; ${rule}`;
        await node.run([...inside, witness], "watch a stranger");
        this.#watched.add(network);
      }
      const text = await node.run([...inside, "list", "table", "inet", "witness"], "look at a stranger");
      heard += Number(/packets (\d+)/.exec(text)?.[1]);
    }
    return heard;
  }

  /** One that has ended with its node is there anew. */
  async #find(name: string): Promise<Stranger> {
    const { bed } = this.#bed;
    const find = () => bed.get<Stranger>(name, "-n=other", "pod", "stranger");
    const found = await find();
    if (found.status.podIP !== undefined) return found;
    await bed.kubectl(name, "-n=other", "delete", "pod", "stranger");
    await this.put(name);
    return await find();
  }
}

interface Stranger {
  readonly spec: { readonly nodeName: string };
  readonly status: { readonly podIP: string };
}
