import { conditions } from "../conditions.ts";
import { exportedPorts, exportName } from "../fragments/exported.ts";
import { address } from "../fragments/naming.ts";
import { labelSelector } from "../fragments/selector.ts";
import { conditionColumn, defineKind, type ObjectOf, reasonColumn } from "../kind.ts";
import { array, boolean, integer, ipAddress, object, objectName } from "../schema/index.ts";

export const Export = defineKind({
  kind: "Export",
  plural: "exports",
  shortNames: ["exp"],
  namespaced: false,
  purpose:
    "What peers may reach through their links with this site, besides pods of shared namespaces: a host outside of any cluster, or Services of this site. Nobody else may, and nothing else of it. Peers use it by an Import.",
  writers: { spec: "the owner of the site that has it", status: "that site's agent" },
  columns: [
    { name: "Host", path: ".spec.host.address", description: "The host's address." },
    { name: "Sites", path: ".spec.sites", description: "Who may reach it." },
    conditionColumn("Ready", "Whether they can be told of it."),
    reasonColumn("Ready", "Why it is ready or not."),
  ],
  spec: object({
    sites: array(objectName(), { minItems: 1, maxItems: 64, set: true }).describe(
      "Names of the Sites that may reach it, each of which needs a link with this one. This site's own name means its own namespaces, wherever their pods run.",
    ),
    host: object({
      address: ipAddress().describe("Its address, as the gateway of this site reaches it."),
      ports: exportedPorts().describe("What of it may be reached, and nothing else."),
      masquerade: boolean()
        .default(true)
        .describe(
          "Whether the host sees the gateway's own address. Without, it sees the address that the client has here, and must send its answers to the gateway.",
        ),
    })
      .optional()
      .describe("A host outside of clusters. Its name for an Import is that of the Export."),
    services: object({
      namespaceSelector: labelSelector().describe(
        "Which namespaces, by their labels. `{}` means all but the system's, the agent's, and those of other sites' guests.",
      ),
      selector: labelSelector()
        .optional()
        .describe("Which Services of these, by their labels; all where it is left out."),
    })
      .optional()
      .describe("Services of this site, now and when they are made. Each is called `NAMESPACE/NAME` for an Import."),
  })
    .rule("has(self.host) != has(self.services)", "must have either host or services")
    .describe("What the owner lets others reach."),
  status: object({
    entries: array(
      object({
        name: exportName().describe("What an Import asks for."),
        addresses: array(address(), { maxItems: 2, set: true }).describe(
          "Of this site's range for exports: what stands for it at this site's end of links. Peers have names for them.",
        ),
        masquerade: boolean().optional().describe("Whether it sees the gateway's own address."),
        ports: array(
          object({
            name: exportedPorts.portName().optional().describe("Its name, where there are several."),
            protocol: exportedPorts.protocol().describe("What is spoken there."),
            port: exportedPorts.port().describe("The port that peers use."),
            backends: array(
              object({
                address: address().describe("Where it leads."),
                port: integer({ minimum: 1, maximum: 65535 }).describe("The port there."),
              }),
              { maxItems: 64 },
            ).describe("Where connections are led, by chance."),
          }),
          { maxItems: 64 },
        ).describe("What of it can be reached."),
      }),
      { maxItems: 128, keys: ["name"] },
    )
      .optional()
      .describe("What the gateway is to bring about."),
    conditions: conditions({
      Ready: {
        meaning: "The sites that may reach it are told of it.",
        reasons: {
          Exported: "They are, as soon as they have a link.",
          SomeLeftOut:
            "Most are; there are more Services than can be told, and the message says how many are left out.",
          SomeSitesUnknown: "Those that this site knows are; the message says which names are no Site's here.",
          SitesUnknown: "No Site here is called as any that it names: nobody is told.",
          NothingMatches: "No Service that could be exported matches.",
          AddressRefused: "An address of that sort cannot be exported; the message says why.",
          RangeExhausted: "There are more exports than addresses for them.",
        },
      },
    }),
  })
    .optional()
    .describe("What the agent makes of it."),
  example: {
    metadata: { name: "billing-db" },
    spec: {
      sites: ["lively-wave"],
      host: { address: "192.168.7.20", ports: [{ port: 5432 }] },
    },
  },
});
export type Export = ObjectOf<typeof Export>;
