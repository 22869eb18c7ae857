import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Import, newObject } from "@fjord/api";
import { findImport, forgeImportService, forgeImportSlices } from "./import-forge.ts";

const siteId = "mzxw6ytboi2dcmrtgq2tmnzyhe";
const plan = {
  site: siteId,
  own: [{ range: "10.42.0.0/16", called: "10.42.0.0/16" }],
  peer: [
    { range: "10.42.0.0/16", called: "240.0.0.0/16" },
    { range: "252.0.0.0/20", called: "240.1.0.0/20" },
    { range: "fd66:6a71::/116" },
  ],
};
const ports = [{ protocol: "TCP", port: 5432 } as const];
const facts = {
  publicKey: "k",
  endpoints: [],
  ranges: [],
  names: [],
  exports: [
    { name: "db", addresses: ["252.0.0.7"], ports },
    { name: "nameless", addresses: ["fd66:6a71::7"], ports },
  ],
};
const importOf = (name: string, status?: Import["status"]): Import => ({
  ...newObject(Import, { metadata: { name: "ledger", namespace: "shop" }, spec: { site: "wave", export: name } }),
  ...(status && { status }),
});
const reason = (...args: Parameters<typeof findImport>) => findImport(...args).reason;

describe("what an Import stands for", () => {
  it("is what the peer exports, by the name that it has here", () => {
    assert.deepEqual(findImport(importOf("db"), { siteId, plan, word: { facts } }), {
      siteId,
      addresses: ["240.1.0.7"],
      ports,
      reason: "Imported",
      message: "",
    });
  });

  it("is nothing where the site, the link, or the export is missing, and says which", () => {
    assert.equal(reason(importOf("db"), { word: "unknown" }), "SiteUnknown");
    assert.equal(reason(importOf("db"), { siteId, word: { facts } }), "NotLinked");
    assert.equal(reason(importOf("other"), { siteId, plan, word: { facts } }), "NotExported");
    assert.equal(reason(importOf("nameless"), { siteId, plan, word: { facts } }), "NotLinked");
    assert.equal(reason(importOf("db"), { siteId, plan, word: {} }), "NotExported");
  });

  it("stays what it was while the peer is silent, and not where it was another's", () => {
    const before = { siteId, addresses: ["240.1.0.7"], ports: [...ports], conditions: [] };
    assert.deepEqual(findImport(importOf("db", before), { siteId, plan, word: "unknown" }).addresses, ["240.1.0.7"]);
    const others = { ...before, siteId: "a".repeat(26) };
    assert.equal(reason(importOf("db", others), { siteId, plan, word: "unknown" }), "NotExported");
  });

  it("has a Service without a selector, and a slice for each family", () => {
    const found = { siteId, addresses: ["240.1.0.7", "fd66:6a6f::7"], ports, reason: "Imported", message: "" } as const;
    const service = forgeImportService(importOf("db"), { ...found, ports: [...ports] });
    assert.equal(service.spec?.selector, undefined);
    assert.deepEqual(service.spec?.ports, [{ protocol: "TCP", port: 5432, targetPort: 5432 }]);
    const slices = forgeImportSlices(importOf("db"), { ...found, ports: [...ports] });
    assert.deepEqual(
      slices.map(({ metadata, addressType, endpoints }) => [metadata.name, addressType, endpoints?.[0]?.addresses]),
      [
        ["ledger-import-ipv4", "IPv4", ["240.1.0.7"]],
        ["ledger-import-ipv6", "IPv6", ["fd66:6a6f::7"]],
      ],
    );
  });
});
