/**
 * What the Node object gives as its kubelet's version: that of the Kubernetes release whose node behaviour this is, as
 * API servers and clients compare it with their own, and Fjord's as the build's.
 */
export const nodeVersion = "v1.36.0+fjord.0.1.0";
