import { conditions } from "../conditions.ts";
import { exportedPorts, exportName } from "../fragments/exported.ts";
import { address } from "../fragments/naming.ts";
import { conditionColumn, defineKind, type ObjectOf, reasonColumn } from "../kind.ts";
import { array, boolean, object, objectName, siteId } from "../schema/index.ts";

export const Import = defineKind({
  kind: "Import",
  plural: "imports",
  shortNames: ["imp"],
  namespaced: true,
  purpose:
    "Lets the pods of a namespace reach what a peer exports to this site, by a Service of the Import's name; or what this site exports to itself, wherever they run. Pods of other namespaces do not reach it.",
  writers: { spec: "the owner of the namespace", status: "the agent" },
  columns: [
    { name: "Site", path: ".spec.site", description: "Who exports it." },
    { name: "Export", path: ".spec.export", description: "What it is called there." },
    { name: "Address", path: ".status.addresses[0]", description: "What stands for it here." },
    conditionColumn("Ready", "Whether it can be reached."),
    reasonColumn("Ready", "Why it is ready or not."),
    conditionColumn("ReachedByGuests", "Whether the namespace's pods at other sites can reach it, too."),
  ],
  spec: object({
    site: objectName().describe("Name of the Site that exports it. It may be this one: then guests reach it, too."),
    export: exportName().describe("Name of the Export there."),
    service: boolean()
      .default(true)
      .describe("Whether there is to be a Service of the Import's name; without, pods use `status.addresses`."),
  }).describe("What the owner of the namespace wants."),
  status: object({
    siteId: siteId().optional().describe("Id of the site."),
    addresses: array(address(), { maxItems: 2, set: true })
      .optional()
      .describe(
        "What stands for it here, of what the peer is called here; the host itself where this site exports it.",
      ),
    ports: array(
      object({
        name: exportedPorts.portName().optional().describe("Its name, where there are several."),
        protocol: exportedPorts.protocol().describe("What is spoken there."),
        port: exportedPorts.port().describe("The port."),
      }),
      { maxItems: 64 },
    )
      .optional()
      .describe("What of it can be reached, by the peer's word."),
    conditions: conditions({
      Ready: {
        meaning: "Pods of the namespace can reach it, as far as the two sites' agents know.",
        reasons: {
          Imported: "They can, while the link is up.",
          SiteUnknown: "There is no Site of that name here.",
          NotLinked: "There is no link with that site: `link` of a Peering asks for one.",
          NotExported: "That site exports nothing of that name to this one.",
          ServiceTaken: "There is a Service of that name that is not this Import's; addresses work nevertheless.",
          ServiceRefused: "The API takes no such Service; the message says why. Addresses work nevertheless.",
        },
      },
      ReachedByGuests: {
        meaning: "So can those of its pods that run at other sites; only where the namespace is offloaded.",
        reasons: {
          Reached: "They can, by its Service, wherever the namespace is.",
          HomeOnly:
            "Another site exports it, and to this one alone; the message says where guests are that do not reach it.",
          NotLinked:
            "There is no link with a site that the namespace is at, or none that has a name for it yet; the message says which.",
          NoService: "Guests find it by its Service, of which there is none.",
        },
      },
    }),
  })
    .optional()
    .describe("What the agent makes of it."),
  example: {
    metadata: { name: "billing-db", namespace: "default" },
    spec: { site: "harbor", export: "billing-db" },
  },
});
export type Import = ObjectOf<typeof Import>;
