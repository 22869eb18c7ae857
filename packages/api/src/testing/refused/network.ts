import { AddressPlan, Export, Import, Link } from "../../kinds/index.ts";
import { type Refusal, type Row, refuses, refusesChanges } from "./refusal.ts";
import { aSiteId, notASiteId, selectors } from "./shared.ts";

const named = (kind: string) => `must be the same as metadata.name, so that a peer has one ${kind}`;

export const refusedAddressPlans: readonly Refusal[] = [
  ...refuses(AddressPlan, [
    ["another's name", { metadata: { name: aSiteId } }, "spec.site", named("AddressPlan")],
    ["a site that is none", { metadata: { name: "x" }, spec: { site: "x" } }, "spec.site", notASiteId],
    ["a range in words", { spec: { own: [{ range: "here" }] } }, "spec.own[0].range", "should match"],
    ["a range twice", { spec: { own: Array(2).fill({ range: "10.0.0.0/8" }) } }, "spec.own[1]", "Duplicate value"],
  ]),
  ...refusesChanges(AddressPlan, {}, [
    ["another site", { spec: { site: aSiteId } }, "spec.site", "another peer has another AddressPlan"],
  ]),
];

export const refusedLinks: readonly Refusal[] = [
  ...refuses(Link, [
    ["another's name", { metadata: { name: aSiteId } }, "spec.site", named("Link")],
    ["a site that is none", { metadata: { name: "x" }, spec: { site: "x" } }, "spec.site", notASiteId],
    ["a key that is none", { spec: { publicKey: "secret" } }, "spec.publicKey", "should match"],
    ["a hub that is no site", { spec: { via: "hub" } }, "spec.via", notASiteId],
    ["an endpoint without a port", { spec: { endpoints: ["wave.example"] } }, "spec.endpoints[0]", "should match"],
    [
      "a member in words",
      { spec: { groups: [{ name: "shop", local: ["all"], remote: [] }] } },
      "spec.groups[0].local[0]",
      "should match",
    ],
  ]),
  ...refusesChanges(Link, {}, [
    ["another site", { spec: { site: aSiteId } }, "spec.site", "another peer has another Link"],
  ]),
];

const notAName = "must be the name of an object: a-z, 0-9, '-' and '.', such as lively-wave";
const host = (change: object) => ({ spec: { host: change } });

/** Selectors of the spec that has no host. */
const services = ["namespaceSelector", "selector"].flatMap((name) =>
  selectors(`spec.services.${name}`).map(([what, change, field, words]): Row => {
    const { spec } = change as { spec: { services: object } };
    return [what, { spec: { host: null, services: { namespaceSelector: {}, ...spec.services } } }, field, words];
  }),
);

export const refusedExports: readonly Refusal[] = refuses(Export, [
  ["nobody who may reach it", { spec: { sites: [] } }, "spec.sites", "should have at least 1 items"],
  ["a site that is no name", { spec: { sites: ["Lively Wave"] } }, "spec.sites[0]", notAName],
  ["a site twice", { spec: { sites: ["wave", "wave"] } }, "spec.sites[1]", "Duplicate value"],
  [
    "a host by its name",
    host({ address: "db.example" }),
    "spec.host.address",
    "must be an address, such as 192.168.7.20 or fd00:7::20",
  ],
  ["a host without ports", host({ ports: [] }), "spec.host.ports", "should have at least 1 items"],
  [
    "a port that is none",
    host({ ports: [{ port: 65_536 }] }),
    "spec.host.ports[0].port",
    "less than or equal to 65535",
  ],
  [
    "another protocol",
    host({ ports: [{ port: 1, protocol: "ICMP" }] }),
    "spec.host.ports[0].protocol",
    'supported values: "TCP", "UDP"',
  ],
  [
    "a host and Services at once",
    { spec: { services: { namespaceSelector: {} } } },
    "spec",
    "must have either host or services",
  ],
  ["neither", { spec: { host: null } }, "spec", "must have either host or services"],
  ...services.map(([what, change, field, words]): Row => [`Services by ${what}`, change, field, words]),
  [
    "several ports without names",
    host({ ports: [{ port: 1 }, { port: 2 }] }),
    "spec.host.ports",
    "must each have a name where there are several, as the ports of a Service must",
  ],
]);

export const refusedImports: readonly Refusal[] = refuses(Import, [
  ["a site that is no name", { spec: { site: "Lively Wave" } }, "spec.site", notAName],
  ["a name of three parts", { spec: { export: "a/b/c" } }, "spec.export", "should match"],
]);
