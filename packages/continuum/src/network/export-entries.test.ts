import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Export, Import, newObject } from "@fjord/api";
import { entriesFor, exportFacts, exportRanges, exportStatuses, ownImports } from "./export-entries.ts";
import { contains, parseRange } from "./ip-range.ts";
import { EXPORT_RANGES } from "./link-address.ts";
import { formatCidr } from "./ranges.ts";

const hostOf = (name: string, address: string, sites = ["wave"], status?: Export["status"]): Export => ({
  ...newObject(Export, { metadata: { name }, spec: { sites, host: { address, ports: [{ port: 5432 }] } } }),
  ...(status && { status }),
});
const now = Date.parse("2030-01-01T00:00:00Z");
const known: ReadonlySet<string> = new Set(["harbor", "wave"]);
/** As they are once the agent has said it. */
const said = (...exports: Export[]): Export[] => {
  const statuses = exportStatuses(exports, () => [], known, now);
  return exports.map((each) => ({ ...each, status: statuses.get(each.metadata.name ?? "") ?? {} }));
};
const addressesOf = ({ status }: Export) => status?.entries?.flatMap(({ addresses }) => addresses) ?? [];
const reasonOf = (address: string) => said(hostOf("db", address))[0]?.status?.conditions?.[0]?.reason;

describe("what is exported", () => {
  it("has an address of the range for exports, of the host's family, and leads to the host alone", () => {
    const [four, six] = said(hostOf("db", "192.168.7.20"), hostOf("db6", "fd00:7::20")) as [Export, Export];
    for (const [object, family] of [[four, 4] as const, [six, 6] as const]) {
      const [address = ""] = addressesOf(object);
      assert.ok(contains(EXPORT_RANGES[family], parseRange(address) as never), address);
    }
    assert.deepEqual(four.status?.entries?.[0]?.ports, [
      { protocol: "TCP", port: 5432, backends: [{ address: "192.168.7.20", port: 5432 }] },
    ]);
    assert.equal(four.status?.entries?.[0]?.masquerade, true);
    assert.deepEqual(exportRanges([...(four.status?.entries ?? []), ...(six.status?.entries ?? [])]).map(formatCidr), [
      "252.0.0.0/20",
      "fd66:6a71::/116",
    ]);
  });

  it("has the same address when it is made again, and keeps one that it has", () => {
    const first = said(hostOf("db", "192.168.7.20"));
    assert.deepEqual(said(hostOf("db", "192.168.7.21")).map(addressesOf), first.map(addressesOf));
    const kept = { entries: [{ name: "db", addresses: ["252.0.1.1"], ports: [] }], conditions: [] };
    assert.deepEqual(said(hostOf("db", "192.168.7.20", ["wave"], kept)).map(addressesOf), [["252.0.1.1"]]);
  });

  it("says which sites it names that nobody is called", () => {
    const messageOf = (...sites: string[]) =>
      said(hostOf("db", "192.168.7.20", sites))[0]?.status?.conditions?.[0]?.message;
    assert.equal(messageOf("wave"), "");
    assert.equal(messageOf("wave", "wvae", "reef"), "this site knows no site wvae, reef");
    const [refused] = said(hostOf("db", "127.0.0.1", ["reef"]));
    assert.match(refused?.status?.conditions?.[0]?.message ?? "", /^127\.0\.0\.1: .*; this site knows no site reef$/);
  });

  it("is not ready where nobody is called as any of the sites, and its reason tells of some", () => {
    const readyOf = (...sites: string[]) => {
      const { status, reason } = said(hostOf("db", "192.168.7.20", sites))[0]?.status?.conditions?.[0] ?? {};
      return `${status} ${reason}`;
    };
    assert.deepEqual(
      [readyOf("wave"), readyOf("wave", "wvae"), readyOf("wvae", "reef")],
      ["True Exported", "True SomeSitesUnknown", "False SitesUnknown"],
    );
    assert.equal(
      addressesOf(said(hostOf("db", "192.168.7.20", ["reef"]))[0] as Export).length,
      1,
      "it may be met later",
    );
    assert.equal(said(hostOf("db", "127.0.0.1", ["reef"]))[0]?.status?.conditions?.[0]?.reason, "AddressRefused");
  });

  it("has no address twice, however many there are", () => {
    const all = said(...Array.from({ length: 600 }, (_, at) => hostOf(`db-${at}`, "192.168.7.20")));
    assert.equal(new Set(all.flatMap(addressesOf)).size, 600);
  });

  it("is nothing where the range is used up", () => {
    const all = said(...Array.from({ length: 4_096 }, (_, at) => hostOf(`db-${at}`, "192.168.7.20")));
    const reasons = all.map(({ status }) => status?.conditions?.[0]?.reason);
    assert.deepEqual(
      [reasons.filter((each) => each === "Exported").length, reasons.includes("RangeExhausted")],
      [4_094, true],
    );
  });

  for (const address of [
    "127.0.0.1",
    "169.254.169.254",
    "224.0.0.1",
    "0.0.0.0",
    "::1",
    "fe80::1",
    "252.0.0.7",
    "248.0.0.1",
    "fd66:6a70::1",
  ])
    it(`is not ${address}`, () => assert.equal(reasonOf(address), "AddressRefused"));

  it("is each Service that is named, with an address for each of its families", () => {
    const spec = { sites: ["wave"], services: { namespaceSelector: {} } };
    const object = newObject(Export, { metadata: { name: "all" }, spec });
    const services = Array.from({ length: 130 }, (_, at) => ({
      name: `shop/web-${at}`,
      families: [4, 6] as const,
      ports: [{ protocol: "TCP" as const, port: 80, backends: [] }],
    }));
    const status = exportStatuses([object], () => services.slice(0, 2), known, now).get("all");
    assert.deepEqual(
      status?.entries?.map(({ name, addresses, masquerade }) => [name, addresses.length, masquerade]),
      [
        ["shop/web-0", 2, undefined],
        ["shop/web-1", 2, undefined],
      ],
    );
    const many = exportStatuses([object], () => services, known, now).get("all");
    assert.deepEqual([many?.entries?.length, many?.conditions?.[0]?.reason], [128, "SomeLeftOut"]);
    assert.equal(exportStatuses([object], () => [], known, now).get("all")?.conditions?.[0]?.reason, "NothingMatches");
  });

  it("is told to those whom its owner names, and not where it leads", () => {
    const all = said(hostOf("db", "192.168.7.20"), hostOf("other", "192.168.7.21", ["reef"]));
    const names = (...sites: string[]) => entriesFor(all, sites).map(({ name }) => name);
    assert.deepEqual(
      [names("wave"), names("reef"), names("wave", "reef"), names("nobody"), names()],
      [["db"], ["other"], ["db", "other"], [], []],
    );
    assert.equal(JSON.stringify(exportFacts(entriesFor(all, ["wave"]))).includes("192.168"), false);
    const going = all.map((each) => ({
      ...each,
      metadata: { ...each.metadata, deletionTimestamp: "2030-01-01T00:00:00Z" },
    }));
    assert.deepEqual(entriesFor(going, ["wave"]), []);
  });

  it("is open to guests of namespaces that import it of their own site, where it names that", () => {
    const all = said(hostOf("db", "192.168.7.20", ["harbor"]), hostOf("other", "192.168.7.21", ["wave"]));
    const importOf = (namespace: string, name: string, siteId = "own"): Import => ({
      ...newObject(Import, { metadata: { name, namespace }, spec: { site: "harbor", export: name } }),
      status: { siteId },
    });
    const imports = [importOf("shop", "db"), importOf("bank", "other"), importOf("mill", "db", "another")];
    const names = (...some: Import[]) =>
      [...ownImports(all, some, { id: "own", names: ["harbor"] })].map(([key, entries]) => [
        key,
        entries.map(({ name }) => name),
      ]);
    assert.deepEqual(names(...imports), [["shop", ["db"]]]);
    const going = importOf("shop", "db");
    going.metadata.deletionTimestamp = "2030-01-01T00:00:00Z";
    assert.deepEqual(names(going), []);
  });
});
