import assert from "node:assert/strict";
import { it } from "node:test";
import { AddressPlan, newObject, Peering, Site } from "@fjord/api";
import { linkWaits, whyNoLink, withoutNetwork } from "./link-waits.ts";

const WAVE = "b".repeat(26);
const range = "10.42.0.0/16";
const site = (name: string, id: string, role: "Self" | "Peer", network?: object) =>
  ({
    ...newObject(Site, { metadata: { name }, spec: { ...(network && { network }) } as never }),
    status: { id, role },
  }) as Site;
const wave = site("wave", WAVE, "Peer");
const own = (network?: object) => site("harbor", "a".repeat(26), "Self", network);
const plan = (peer: readonly object[], carrier?: "Proxy") =>
  newObject(AddressPlan, {
    metadata: { name: WAVE },
    spec: { site: WAVE, own: [{ range }], peer, ...(carrier && { carrier }) } as never,
  });

it("is the own Site's network, by the command that sets it", () => {
  const sites = [own(), wave];
  assert.match(
    linkWaits("wave", { sites, plans: [], ranges: [range] }) ?? "",
    /^Site harbor has no spec\.network.*kubectl patch site harbor --type=merge .*"network":\{\}/,
  );
  assert.equal(withoutNetwork([own({}), wave]), undefined);
});

it("is the peer's, until it has told its ranges", () => {
  const sites = [own({}), wave];
  for (const plans of [[], [plan([])]])
    assert.match(linkWaits("wave", { sites, plans, ranges: [range] }) ?? "", /^wave has not told .*spec\.network/);
  assert.equal(linkWaits("wave", { sites, plans: [plan([{ range }])], ranges: [range] }), undefined);
});

it("is nothing where agents carry", () => {
  const sites = [own(), wave];
  assert.equal(linkWaits("wave", { sites, plans: [], ranges: ["127.88.0.0/22"] }), undefined);
  assert.equal(linkWaits("wave", { sites, plans: [plan([], "Proxy")], ranges: [] }), undefined);
});

it("is why there is no link to capture, and not that nobody has asked", () => {
  const asked = newObject(Peering, {
    metadata: { name: "w" },
    spec: { site: "wave", resources: {}, link: true } as never,
  });
  const why = (sites: Site[], plans: AddressPlan[], peerings: Peering[]) => whyNoLink(wave, { sites, plans, peerings });
  assert.match(why([own(), wave], [], [asked]), /^Site harbor has no spec\.network/);
  assert.match(why([own({}), wave], [plan([])], []), /^wave has not told/);
  assert.equal(why([own({}), wave], [], []), "nobody has asked for one");
  assert.match(why([own(), wave], [plan([], "Proxy")], []), /agents carry/);
});
