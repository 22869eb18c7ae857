import assert from "node:assert/strict";
import {
  EchoPod,
  type NamespaceSite,
  NetworkNamespaces,
  namespaceSites,
  wireguardKeys,
} from "@fjord/testbed/namespaces";
import type { Gateway, GatewayOptions } from "./gateway.ts";
import { gatewayOf } from "./test-gateways.ts";

/** Sites in network namespaces, all with the same addresses, each with a key of its own. A pod is called by its site and a number, such as `a1`. */
export class TestSites<Name extends string> implements AsyncDisposable {
  readonly namespaces = new NetworkNamespaces();
  readonly keys: Record<Name, { private: string; public: string }>;
  /** Those that were started. */
  readonly pods: Record<string, EchoPod> = {};
  readonly #mark: string;
  readonly #podsOf: Readonly<Record<Name, number>>;
  #sites = {} as Record<Name, NamespaceSite>;

  /** `mark` is the test's own letter in names of interfaces: WireGuard's sockets are in one folder, for all network namespaces. */
  constructor(mark: string, podsOf: Readonly<Record<Name, number>>) {
    this.#mark = mark;
    this.#podsOf = podsOf;
    this.keys = Object.fromEntries(this.names.map((name) => [name, wireguardKeys()])) as typeof this.keys;
  }

  async make(): Promise<void> {
    const made = await namespaceSites(this.namespaces, this.#podsOf);
    this.#sites = Object.fromEntries(made.map((site) => [site.name, site])) as Record<Name, NamespaceSite>;
  }

  get names(): Name[] {
    return Object.keys(this.#podsOf) as Name[];
  }

  site(name: Name): NamespaceSite {
    return this.#sites[name];
  }

  /** Addresses of a pod, as its own site calls it. */
  pod(name: string): { readonly ipv4: string; readonly ipv6: string } {
    return this.site(name.slice(0, 1) as Name).pods.get(name) ?? { ipv4: "", ipv6: "" };
  }

  /** What interfaces of a site's gateway are called, before their number. */
  prefixOf(site: Name): string {
    return `${this.#mark}${process.pid.toString(36)}${site}`;
  }

  gateway(site: Name, options: Partial<GatewayOptions> = {}): Gateway {
    return gatewayOf(this.namespaces, site, { interfacePrefix: this.prefixOf(site), ...options });
  }

  /** Has all pods answer and ask. */
  async startPods(): Promise<void> {
    for (const name of this.names) for (const pod of this.site(name).pods.keys()) await this.startPod(pod);
  }

  async startPod(name: string): Promise<EchoPod> {
    const pod = await EchoPod.start(this.namespaces, name);
    this.pods[name] = pod;
    return pod;
  }

  /** So many packets were dropped by the firewall of a site's gateway. */
  async denied(site: Name, counter: "denied-in" | "denied-out" = "denied-in"): Promise<number> {
    const text = await this.namespaces.run(`${site}-gw`, "nft", "list", "counter", "inet", "fjord", counter);
    return Number(/packets (\d+)/.exec(text)?.[1]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.namespaces[Symbol.asyncDispose]();
  }
}

export async function eventually(
  what: string,
  holds: () => boolean | Promise<boolean>,
  patienceMs = 60_000,
): Promise<void> {
  for (const end = Date.now() + patienceMs; !(await holds()); await new Promise((resolve) => setTimeout(resolve, 50)))
    assert.ok(Date.now() < end, `not within ${patienceMs / 1000} seconds: ${what}`);
}
