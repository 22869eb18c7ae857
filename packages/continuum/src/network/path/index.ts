export { LINK_SECRET, replaceLinkKey } from "../link-key.ts";
export { isSaidSilent } from "../link-status.ts";
export { calledByOther, calledHere, calledThere, meantThere } from "../translate.ts";
export { fabricFaults } from "./fabric-faults.ts";
export { meantByGuest } from "./home-word.ts";
export { packetPath } from "./packet-path.ts";
export type { Hop, PacketPath, PathEnd, SiteView } from "./path.ts";
export { type PolicyAnswer, policyAnswer } from "./policy-hop.ts";
export { siteOfAddress } from "./site-of-address.ts";
