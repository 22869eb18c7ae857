import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { newObject, Site } from "@fjord/api";
import { getCondition } from "@fjord/kube";
import fc from "fast-check";
import type { PublishedFacts, SiteReport } from "../../protocol.ts";
import type { Reachability, RemoteSite } from "../../remote-site.ts";
import { ownStatus, peerStatus, sanePublished, versionProblem } from "./site-status.ts";

const id = "b".repeat(26);
const site = newObject(Site, { metadata: { name: "peer", generation: 1 }, spec: { id } });
const now = Date.parse("2030-01-01T00:00:00Z");

function remote(reachability: Partial<Reachability>, published: unknown = { name: "wave" }): RemoteSite {
  const reach = { reachable: true, since: now, reason: "Dialled", message: "", ...reachability } as Reachability;
  const report = { id, published, endpoints: [], contracts: [] } as unknown as SiteReport;
  return { id, reachability: reach, clockAhead: 0, report } as RemoteSite;
}

describe("what is known of a peer", () => {
  it("is told by its Site: whether it answers, and why not", () => {
    const { conditions, published, reachableSince } = peerStatus(site, remote({}), "0.1.0", now);
    assert.equal(getCondition(conditions, "Ready")?.reason, "Reachable");
    assert.equal(published?.name, "wave");
    assert.equal(reachableSince, "2030-01-01T00:00:00Z");
    const silent = peerStatus(site, remote({ reachable: false, reason: "TimedOut", message: "silent" }), "0.1.0", now);
    assert.equal(getCondition(silent.conditions, "Ready")?.reason, "Unreachable");
    assert.equal(getCondition(silent.conditions, "Reachable")?.reason, "TimedOut");
    const guest = peerStatus(site, remote({ reachable: false, reason: "NoEndpoint" }), "0.1.0", now);
    assert.equal(getCondition(guest.conditions, "Ready")?.reason, "NoEndpoint");
    const another = peerStatus(site, remote({ reachable: false, reason: "WrongKey" }), "0.1.0", now);
    assert.equal(getCondition(another.conditions, "Ready")?.reason, "IdentityMismatch");
    const stranger = peerStatus(site, remote({ reachable: false, reason: "NotPaired" }), "0.1.0", now);
    assert.equal(getCondition(stranger.conditions, "Ready")?.reason, "NotPaired");
  });

  it("tells of contracts that the owner of this site has closed, and that they no longer are", () => {
    const cordoned = (of: Site, isCordoned: boolean) => peerStatus(of, remote({}), "0.1.0", now, isCordoned);
    assert.equal(getCondition(cordoned(site, false).conditions, "Cordoned"), undefined);
    const closed = cordoned(site, true);
    assert.deepEqual(getCondition(closed.conditions, "Cordoned")?.status, "True");
    assert.match(getCondition(closed.conditions, "Cordoned")?.message ?? "", /until `fjord uncordon peer`$/);
    assert.equal(getCondition(closed.conditions, "Ready")?.status, "True");
    const opened = cordoned({ ...site, status: closed }, false);
    assert.equal(getCondition(opened.conditions, "Cordoned")?.reason, "ContractsOpen");
  });

  it("is of use within one minor of the own version", () => {
    for (const version of ["0.1.7", "0.2.0", "v0.0.9", undefined, "unknown", "0.2.0-rc.1"])
      assert.equal(versionProblem("0.1.0", version), undefined, version);
    for (const version of ["0.3.0", "1.0.0"])
      assert.match(versionProblem("0.1.0", version) ?? "", /within one minor of each other/);
    const far = peerStatus(site, remote({}, { version: "0.9.0" }), "0.1.0", now);
    assert.equal(getCondition(far.conditions, "Ready")?.reason, "VersionUnsupported");
    assert.equal(getCondition(far.conditions, "Reachable")?.status, "True");
  });

  it("changes its transition times only with the state", () => {
    const first = peerStatus(site, remote({}), "0.1.0", now);
    const second = peerStatus({ ...site, status: first }, remote({}), "0.1.0", now + 5_000);
    assert.deepEqual(second, first);
  });

  it("holds nothing that the API would refuse, whatever the peer says", () => {
    const odd = {
      name: "x".repeat(99),
      tier: "moon",
      location: { region: "Not A Label", latitude: 999, longitude: 0, zone: "z1" },
      properties: { good: "yes", "bad key": "x", long: "x".repeat(99), number: 7 },
      architectures: ["arm64", "arm64", 7, "<script>"],
      version: "1.0",
      secret: "kept out",
    } as unknown as PublishedFacts;
    assert.deepEqual(sanePublished(odd), {
      location: { zone: "z1" },
      properties: { good: "yes" },
      architectures: ["arm64"],
      version: "1.0",
    });
    fc.assert(
      fc.property(fc.anything(), (value) => {
        const kept = sanePublished(value as PublishedFacts);
        assert.ok(JSON.stringify(kept).length < 20_000);
      }),
    );
  });
});

describe("what the own Site says", () => {
  it("takes back what is shared no longer", () => {
    const home = { identity: { id, publicKey: `${"A".repeat(43)}=` }, namespace: "agents" };
    const sharing = ownStatus(site, home, {}, { shared: { cpu: "2" }, free: { cpu: "1" } }, now);
    assert.deepEqual([sharing.role, sharing.free], ["Self", { cpu: "1" }]);
    assert.equal(sharing.agentNamespace, "agents");
    const nothing = ownStatus({ ...site, status: sharing }, home, {}, undefined, now);
    assert.deepEqual([nothing.shared, nothing.free], [null, null]);
  });

  it("names rules of reflection that nothing obeys, until they are mended", () => {
    const home = { identity: { id, publicKey: `${"A".repeat(43)}=` }, namespace: "agents" };
    const heeded = (of: Site) =>
      ownStatus(of, home, {}, undefined, now).conditions?.find(({ type }) => type === "RulesHeeded");
    const listing = (resource: string, group = "") => {
      const spec = { ...site.spec, reflection: [{ group, resource, policy: "Never" as const }] };
      return { ...site, spec };
    };
    assert.equal(heeded(site), undefined);
    assert.equal(heeded(listing("boats", "example.com"))?.status, "True");
    const wrong = listing("secret");
    assert.match(heeded(wrong)?.message ?? "", /spec\.reflection\[0\] has no effect: .*did you mean secrets\?/);
    const status = ownStatus(wrong, home, {}, undefined, now);
    assert.equal(heeded({ ...listing("secrets"), status })?.status, "True");
  });
});
