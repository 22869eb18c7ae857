import { labelName, number, object } from "../schema/index.ts";

/** Where a site stands. */
export function location() {
  return object({
    region: labelName().optional().describe("Becomes topology.kubernetes.io/region of virtual nodes."),
    zone: labelName().optional().describe("Becomes topology.kubernetes.io/zone of virtual nodes."),
    latitude: number({ minimum: -90, maximum: 90 }).optional().describe("Degrees north."),
    longitude: number({ minimum: -180, maximum: 180 }).optional().describe("Degrees east."),
  }).rule("has(self.latitude) == has(self.longitude)", "latitude and longitude belong together: give both or neither");
}
