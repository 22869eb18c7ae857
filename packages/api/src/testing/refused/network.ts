import { AddressPlan, Link } from "../../kinds/index.ts";
import { type Refusal, refuses, refusesChanges } from "./refusal.ts";
import { aSiteId, notASiteId } from "./shared.ts";

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
