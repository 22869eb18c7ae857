import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { EndpointSlice, Namespace, Service } from "@fjord/kube";
import { exportedServices, type ServiceSources } from "./exported-services.ts";
import { parseCidrs } from "./ranges.ts";

const namespaceOf = (name: string, labels: Record<string, string> = {}) =>
  ({ metadata: { name, labels } }) as Namespace;
const serviceOf = (key: string, spec: object = {}, labels: Record<string, string> = {}): Service => {
  const [namespace = "", name = ""] = key.split("/");
  return {
    metadata: { name, namespace, labels },
    spec: { ports: [{ port: 80 }], ipFamilies: ["IPv4"], ...spec },
  } as Service;
};
const sliceOf = (key: string, addresses: string[], change: object = {}): EndpointSlice => {
  const [namespace = "", name = ""] = key.split("/");
  return {
    metadata: { namespace, labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    endpoints: [{ addresses, conditions: { ready: true } }],
    ports: [{ name: "", port: 8080, protocol: "TCP" }],
    ...change,
  } as unknown as EndpointSlice;
};
const sources = (change: Partial<ServiceSources> = {}): ServiceSources => ({
  namespaces: ["shop", "default", "kube-system", "fjord-system"].map((name) => namespaceOf(name)),
  services: [serviceOf("shop/web")],
  slices: [sliceOf("shop/web", ["10.42.0.8", "10.42.0.7"])],
  elsewhere: parseCidrs(["240.0.0.0/16"]),
  agentNamespace: "fjord-system",
  ...change,
});
const all = { namespaceSelector: {} };
const names = (change: Partial<ServiceSources>, which = all) =>
  exportedServices(which, sources(change)).map(({ name }) => name);

describe("the Services that are exported", () => {
  it("lead to what is ready behind them, by the port there", () => {
    assert.deepEqual(exportedServices(all, sources()), [
      {
        name: "shop/web",
        families: [4],
        ports: [
          {
            protocol: "TCP",
            port: 80,
            backends: [
              { address: "10.42.0.7", port: 8080 },
              { address: "10.42.0.8", port: 8080 },
            ],
          },
        ],
      },
    ]);
  });

  it("are those that the selectors choose", () => {
    const services = [
      serviceOf("shop/web", {}, { tier: "front" }),
      serviceOf("bank/web", {}, { tier: "front" }),
      serviceOf("shop/db"),
    ];
    const namespaces = [namespaceOf("shop", { open: "yes" }), namespaceOf("bank")];
    assert.deepEqual(names({ services, namespaces }), ["bank/web", "shop/db", "shop/web"]);
    const open = { namespaceSelector: { matchLabels: { open: "yes" } } };
    assert.deepEqual(names({ services, namespaces }, open), ["shop/db", "shop/web"]);
    const front = { ...open, selector: { matchLabels: { tier: "front" } } };
    assert.deepEqual(names({ services, namespaces }, front), ["shop/web"]);
  });

  it("are never the API's own, the system's, the agent's, other sites', or what is imported", () => {
    const services = [
      serviceOf("default/kubernetes"),
      serviceOf("kube-system/dns"),
      serviceOf("fjord-system/fjord-agent"),
      serviceOf("guest/web"),
      serviceOf("shop/imported", {}, { "fjord.dev/import": "imported" }),
      serviceOf("shop/elsewhere", { type: "ExternalName", externalName: "example.com" }),
      serviceOf("shop/sctp", { ports: [{ port: 1, protocol: "SCTP" }] }),
    ];
    const namespaces = [...sources().namespaces, namespaceOf("guest", { "fjord.dev/consumer": "a".repeat(26) })];
    assert.deepEqual(names({ services, namespaces }), []);
  });

  it("lead to nobody at another site, nor to who is not ready", () => {
    const slices = [
      sliceOf("shop/web", ["240.0.3.9"]),
      sliceOf("shop/web", ["10.42.0.9"], { endpoints: [{ addresses: ["10.42.0.9"], conditions: { ready: false } }] }),
      sliceOf("shop/web", ["host.example"], { addressType: "FQDN" }),
      sliceOf("shop/web", ["10.42.0.7"], { ports: [{ name: "other", port: 1, protocol: "TCP" }] }),
    ];
    assert.deepEqual(exportedServices(all, sources({ slices }))[0]?.ports[0]?.backends, []);
  });

  it("have a family where they say so, or where something is behind them", () => {
    const both = [serviceOf("shop/web", { ipFamilies: ["IPv6", "IPv4"] })];
    assert.deepEqual(exportedServices(all, sources({ services: both }))[0]?.families, [4, 6]);
    const silent = [serviceOf("shop/web", { ipFamilies: undefined })];
    assert.deepEqual(exportedServices(all, sources({ services: silent }))[0]?.families, [4]);
  });
});
