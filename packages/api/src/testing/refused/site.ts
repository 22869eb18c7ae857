import { Site } from "../../kinds/index.ts";
import { type Refusal, refuses, refusesChanges } from "./refusal.ts";
import { amounts, aSiteId, labels, notAName, notASiteId, reflections } from "./shared.ts";

const notAnEndpoint =
  "must be an https URL of a host, and if need be a port and a path, such as https://site.example:7443";
const notALifetime = "must be a duration of at least 10s, such as 90s or 1h30m";
const idStays = "cannot be changed once set: another id is another site, so make another Site";
const notARange = "must be a range of addresses, such as 10.42.0.0/16 or fd00:42::/56";
const notAHostAndPort = "must be a host and a port, such as wave.example:51820 or [2001:db8::1]:51820";
const network = (change: object) => ({ spec: { network: change } });
const sharing = (change: object) => ({ spec: { sharing: change } });
const endpoints = (...list: string[]) => ({ spec: { endpoints: list } });
const location = (change: object) => ({ spec: { location: change } });

export const refusedSites: readonly Refusal[] = [
  ...refuses(Site, [
    ["an id in capitals", { spec: { id: aSiteId.toUpperCase() } }, "spec.id", notASiteId],
    ["an id that is too short", { spec: { id: "abc" } }, "spec.id", notASiteId],
    ["an id that is too long", { spec: { id: `${aSiteId}a` } }, "spec.id", "may not be more than 26 bytes"],
    ["an unknown tier", { spec: { tier: "fog" } }, "spec.tier", 'supported values: "cloud", "edge", "device"'],
    ["an empty name", { spec: { name: "" } }, "spec.name", "should be at least 1 chars long"],
    ["an endpoint without TLS", endpoints("http://wave.example:7443"), "spec.endpoints[0]", notAnEndpoint],
    ["an endpoint that is no URL", endpoints("wave.example:7443"), "spec.endpoints[0]", notAnEndpoint],
    ["an endpoint without a host", endpoints("https:///kube"), "spec.endpoints[0]", notAnEndpoint],
    ["an endpoint with a password", endpoints("https://me:secret@wave.example"), "spec.endpoints[0]", notAnEndpoint],
    ["an endpoint at port 0", endpoints("https://wave.example:0"), "spec.endpoints[0]", notAnEndpoint],
    ["an endpoint at port 99999", endpoints("https://wave.example:99999"), "spec.endpoints[0]", notAnEndpoint],
    ["an endpoint with a query", endpoints("https://wave.example/?a=b"), "spec.endpoints[0]", notAnEndpoint],
    ["an endpoint with a fragment", endpoints("https://wave.example/#a"), "spec.endpoints[0]", notAnEndpoint],
    ["an endpoint with a space", endpoints("https://wave.example/a b"), "spec.endpoints[0]", notAnEndpoint],
    [
      "too many endpoints",
      endpoints(...Array(9).fill("https://a.example")),
      "spec.endpoints",
      "must have at most 8 items",
    ],
    [
      "half a position",
      location({ latitude: 60.4 }),
      "spec.location",
      "latitude and longitude belong together: give both or neither",
    ],
    [
      "a position beyond the pole",
      location({ latitude: 91, longitude: 5 }),
      "spec.location.latitude",
      "should be less than or equal to 90",
    ],
    ["a region that is no name", location({ region: "EU West" }), "spec.location.region", notAName],
    ["a range that is none", network({ podRanges: ["10.42.0.0"] }), "spec.network.podRanges[0]", notARange],
    ["a range that is too wide to be one", network({ names: ["10.42.0.0/33"] }), "spec.network.names[0]", notARange],
    ["a reserved range in words", network({ reserved: ["the office"] }), "spec.network.reserved[0]", notARange],
    [
      "a gateway without a port",
      network({ endpoints: ["wave.example"] }),
      "spec.network.endpoints[0]",
      notAHostAndPort,
    ],
    [
      "a relay for a site that is no name",
      network({ relays: [{ between: ["harbor", "Lively Wave"] }] }),
      "spec.network.relays[0].between[1]",
      "must be the name of an object: a-z, 0-9, '-' and '.', such as lively-wave",
    ],
    [
      "a relay for one site alone",
      network({ relays: [{ between: ["harbor"] }] }),
      "spec.network.relays[0].between",
      "should have at least 2 items",
    ],
    ["a packet that IPv6 forbids", network({ mtu: 1279 }), "spec.network.mtu", "greater than or equal to 1280"],
    ...labels("spec.properties"),
    ["sharing without amounts", sharing({ resources: null }), "spec.sharing.resources", "Required value"],
    [
      "sharing no amount",
      sharing({ resources: { cpu: null, memory: null } }),
      "spec.sharing.resources",
      "should have at least 1 properties",
    ],
    ...amounts("spec.sharing.resources"),
    ...["*shop.example.com", "a.*.example.com", "https://a.example.com", "", "**"].map(
      (host): [string, object, string, string] => [
        `the host "${host}" for Ingresses`,
        sharing({ objects: { ingressHosts: [host] } }),
        "spec.sharing.objects.ingressHosts[0]",
        "must be a host, such as shop.example.com, all below one, such as *.example.com, or * for all",
      ],
    ),
    [
      "a limit on what is not shared",
      sharing({ perConsumer: { "nvidia.com/gpu": 1 } }),
      "spec.sharing.perConsumer",
      "may limit only what resources shares: add the resource there, or take it out here",
    ],
    [
      "a list of consumers that nobody reads",
      sharing({ consumers: { sites: [aSiteId] } }),
      "spec.sharing.consumers.sites",
      "is needed with accept: Listed, and has no meaning with accept: Paired",
    ],
    [
      "no list of consumers where one is needed",
      sharing({ consumers: { accept: "Listed" } }),
      "spec.sharing.consumers.sites",
      "is needed with accept: Listed, and has no meaning with accept: Paired",
    ],
    [
      "a consumer twice",
      sharing({ consumers: { accept: "Listed", sites: [aSiteId, aSiteId] } }),
      "spec.sharing.consumers.sites[1]",
      "Duplicate value",
    ],
    ["a lifetime without a unit", sharing({ contractLifetime: "3600" }), "spec.sharing.contractLifetime", notALifetime],
    ["a lifetime in days", sharing({ contractLifetime: "2d" }), "spec.sharing.contractLifetime", notALifetime],
    [
      "a lifetime that is too short",
      sharing({ contractLifetime: "9s" }),
      "spec.sharing.contractLifetime",
      notALifetime,
    ],
    ["a negative lifetime", sharing({ contractLifetime: "-1h" }), "spec.sharing.contractLifetime", notALifetime],
    [
      "an unknown enforcement",
      sharing({ enforcement: "Hard" }),
      "spec.sharing.enforcement",
      'supported values: "None", "RequestsRequired", "LimitsEqualRequests"',
    ],
    ...reflections("spec.reflection"),
  ]),
  ...refusesChanges(Site, { metadata: { name: "known" }, spec: { id: aSiteId } }, [
    ["another id", { spec: { id: "zyxwvutsrqponmlkjihgfedcba" } }, "spec.id", idStays],
    ["no id", { spec: { id: null } }, "spec.id", idStays],
    ["no spec at all", { spec: null }, "spec.id", idStays],
  ]),
];
