import { TooManyNodesError } from "./errors.ts";
/** Nodes per site: the names of their links have two digits left for it. */
export const maxNodes = 99;
/** What is below is for the host and for whatever else may join the bridge. */
const firstNode = 10;
/** The nodes of a site: each has its own address on the bridge and its own 256 of the site's pod addresses. */
export function planNodes(layout, network, count) {
    if (count > maxNodes)
        throw new TooManyNodesError({ site: layout.name, count, max: maxNodes });
    const pods = firstAddress(layout.podCidr);
    const bridge = firstAddress(network.cidr);
    return Array.from({ length: count }, (_, i) => ({
        name: `${layout.name}-node-${i + 1}`,
        index: i + 1,
        address: formatAddress(bridge + firstNode + i + 1),
        podCidr: `${formatAddress(pods + i * 256)}/24`,
        link: `${network.bridge}-${i + 1}`,
    }));
}
/** The prefix length of a range: `24` for `198.18.7.0/24`. */
export function prefixLength(cidr) {
    return Number(cidr.split("/")[1]);
}
function firstAddress(cidr) {
    const [address = ""] = cidr.split("/");
    return address.split(".").reduce((value, part) => value * 256 + Number(part), 0);
}
function formatAddress(value) {
    return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join(".");
}
