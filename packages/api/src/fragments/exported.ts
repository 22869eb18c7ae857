import { array, enumeration, integer, object, string } from "../schema/index.ts";

/** What an Export's entry is called: `billing-db`, or of a Service `shop/web`. */
export const exportName = () =>
  string({ maxLength: 127, pattern: "^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(/[a-z0-9]([a-z0-9-]*[a-z0-9])?)?$" });

const portName = () => string({ maxLength: 63, pattern: "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$" });
const protocol = () => enumeration({ TCP: "connections.", UDP: "datagrams." });
const port = () => integer({ minimum: 1, maximum: 65535 });

/** Ports that an owner lists. */
export function exportedPorts() {
  return array(
    object({
      name: portName().optional().describe("Its name, which a Service of several ports needs."),
      protocol: protocol().default("TCP").describe("What is spoken there."),
      port: port().describe("The port."),
    }),
    { minItems: 1, maxItems: 16 },
  ).rule(
    "self.size() == 1 || self.all(each, has(each.name))",
    "must each have a name where there are several, as the ports of a Service must",
  );
}
exportedPorts.portName = portName;
exportedPorts.protocol = protocol;
exportedPorts.port = port;
