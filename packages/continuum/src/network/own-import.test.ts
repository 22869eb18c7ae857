import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { EXPORTED_ANNOTATION, Import, newObject, REFLECT_ANNOTATION } from "@fjord/api";
import { forgeImportService } from "./import-forge.ts";
import { reachedByGuests } from "./import-guests.ts";
import { findOwnImport, forgeOwnSlices } from "./own-import.ts";

const siteId = "mzxw6ytboi2dcmrtgq2tmnzyhe";
const host = {
  name: "db",
  addresses: ["252.0.0.7"],
  masquerade: true,
  ports: [{ protocol: "TCP" as const, port: 5432, backends: [{ address: "192.168.7.20", port: 5432 }] }],
};
const service = {
  name: "data/store",
  addresses: ["252.0.0.8", "fd66:6a71::8"],
  ports: [
    {
      name: "http",
      protocol: "TCP" as const,
      port: 80,
      backends: [
        { address: "10.42.0.3", port: 8080 },
        { address: "10.42.0.4", port: 8080 },
        { address: "10.42.0.5", port: 9090 },
        { address: "fd00::3", port: 8080 },
      ],
    },
  ],
};
const importOf = (name: string, spec = {}): Import =>
  newObject(Import, {
    metadata: { name: "ledger", namespace: "shop" },
    spec: { site: "harbor", export: name, ...spec },
  });
const found = (name: string) => findOwnImport(importOf(name), siteId, [host, service]);

describe("an Import of what the site itself exports", () => {
  it("is the host, as pods here reach that without a link", () => {
    assert.deepEqual(found("db"), {
      siteId,
      addresses: ["192.168.7.20"],
      ports: [{ protocol: "TCP", port: 5432 }],
      reason: "Imported",
      message: "",
      own: host,
    });
    assert.equal(found("other").reason, "NotExported");
  });

  it("has a Service that guests have as well, which one of a peer's export is not", () => {
    assert.equal(forgeImportService(importOf("db"), found("db")).metadata.annotations?.[REFLECT_ANNOTATION], undefined);
    const { own: _, ...peers } = found("db");
    assert.equal(forgeImportService(importOf("db"), peers).metadata.annotations?.[REFLECT_ANNOTATION], "false");
  });

  it("has slices of where it leads here, with what stands for it elsewhere", () => {
    const told = forgeOwnSlices(importOf("data/store"), service).map(({ metadata, endpoints, ports }) => [
      metadata.annotations?.[EXPORTED_ANNOTATION],
      endpoints?.flatMap(({ addresses }) => addresses),
      ports?.map(({ name, port }) => [name, port]),
    ]);
    assert.deepEqual(told, [
      ["252.0.0.8:80", ["10.42.0.3", "10.42.0.4"], [["http", 8080]]],
      ["252.0.0.8:80", ["10.42.0.5"], [["http", 9090]]],
      ["[fd66:6a71::8]:80", ["fd00::3"], [["http", 8080]]],
    ]);
  });
});

describe("whether guests reach what is imported", () => {
  const named = { site: siteId, own: [{ range: "252.0.0.0/20", called: "240.8.0.0/20" }], peer: [] };
  const nameless = { ...named, own: [{ range: "252.0.0.0/20" }] };
  const told = (...args: Parameters<typeof reachedByGuests>) => {
    const { status, reason, message } = reachedByGuests(...args) ?? {};
    return [status, reason, message];
  };

  it("is not said where there are none, or nothing is imported", () => {
    assert.equal(reachedByGuests(importOf("db"), found("db"), []), undefined);
    assert.equal(reachedByGuests(importOf("other"), found("other"), [{ name: "wave", plan: named }]), undefined);
  });

  it("is so where each site has a name for what this one exports, and else says which has not", () => {
    const [wave, reef, isle] = [{ name: "wave", plan: named }, { name: "reef", plan: nameless }, { name: "isle" }];
    assert.deepEqual(told(importOf("db"), found("db"), [wave]), ["True", "Reached", ""]);
    const [, reason, message] = told(importOf("db"), found("db"), [wave, reef]);
    assert.equal(reason, "NotLinked");
    assert.match(message ?? "", /^pods at reef do not reach it: .*no name/);
    assert.match(told(importOf("db"), found("db"), [wave, isle])[2] ?? "", /^pods at isle .*no link/);
  });

  it("is not so of what another site exports, nor without a Service", () => {
    const sites = [{ name: "wave", plan: named }];
    const { own: _, ...peers } = found("db");
    assert.deepEqual(told(importOf("db"), peers, sites), [
      "False",
      "HomeOnly",
      "pods at wave do not reach it: harbor exports it to this site, not to them",
    ]);
    assert.equal(told(importOf("db", { service: false }), found("db"), sites)[1], "NoService");
    assert.equal(told(importOf("db"), { ...found("db"), reason: "ServiceTaken" }, sites)[1], "NoService");
  });
});
