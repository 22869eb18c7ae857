import { waitFor } from "../wait.ts";
import { NodeEndedError, NodeNotReadyError } from "./errors.ts";
/** Waits for nodes on their way to Ready, within one limit of time for all of it. */
export class NodeWait {
    #site;
    #clock;
    #options;
    #deadline;
    constructor(site, clock, options) {
        this.#site = site;
        this.#clock = clock;
        this.#options = options;
        this.#deadline = clock.now() + options.timeout;
    }
    get signal() {
        return this.#options.signal;
    }
    async namespaces(node) {
        await this.#until(node, "its namespaces are there", ["namespaces"], () => Promise.resolve(node.hasNamespaces ? { done: true } : { done: false, seen: "nothing" }));
    }
    async containerd(node, ctr) {
        await this.#until(node, "containerd answers", ["containerd"], () => attempt(() => node.run([ctr, "--timeout", "2s", "version"], "ask containerd", this.#abort())));
    }
    /** Until the kubelet has reported that pods can run, and kube-proxy has not given up. */
    async ready(node) {
        await this.#until(node, "the node is Ready", ["containerd", "kubelet", "kube-proxy"], async () => {
            const { status, text } = await this.#site.get(`/api/v1/nodes/${node.name}`);
            if (status !== 200)
                return { done: false, seen: text.slice(0, 200) };
            const conditions = JSON.parse(text).status?.conditions ?? [];
            const ready = conditions.find(({ type }) => type === "Ready");
            if (ready?.status === "True")
                return { done: true };
            return { done: false, seen: ready?.message ?? "no condition Ready" };
        });
    }
    /** Until every node gets an answer from cluster DNS by the address of its service: that takes all there is to work. */
    async dnsAnswers(nodes, busybox) {
        const question = ["nslookup", "kubernetes.default.svc.cluster.local", this.#site.layout.dnsServiceAddress];
        await Promise.all(nodes.map((node) => this.#until(node, "cluster DNS answers", ["containerd", "kubelet", "kube-proxy"], () => attempt(() => node.run(["timeout", "2", busybox, ...question], "ask cluster DNS", this.#abort())))));
    }
    async #until(node, what, needed, look) {
        let last = "nothing";
        const done = await waitFor(async () => {
            const result = await look();
            if (result.done)
                return true;
            last = result.seen;
            failIfEnded(node, what, needed);
            return false;
        }, { clock: this.#clock, timeout: Math.max(1, this.#deadline - this.#clock.now()), interval: 100, ...this.#abort() });
        const seconds = Math.round(this.#options.timeout / 1000);
        if (!done)
            throw new NodeNotReadyError({ node: node.name, what, seconds, last });
    }
    #abort() {
        const { signal } = this.#options;
        return signal === undefined ? {} : { signal };
    }
}
async function attempt(action) {
    try {
        await action();
        return { done: true };
    }
    catch (error) {
        return { done: false, seen: error instanceof Error ? error.message : String(error) };
    }
}
function failIfEnded(node, what, needed) {
    for (const name of needed) {
        const process = node.process(name);
        if (process.running)
            continue;
        const { log } = process.record;
        throw new NodeEndedError({ process: name, node: node.name, what, log, tail: process.logTail() });
    }
}
