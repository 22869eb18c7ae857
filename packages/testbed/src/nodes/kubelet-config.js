import { containerdSocket } from "./containerd-config.ts";
/** The configuration of a kubelet that shares a machine with others. */
export function kubeletConfig(options) {
    return {
        apiVersion: "kubelet.config.k8s.io/v1beta1",
        kind: "KubeletConfiguration",
        address: options.address,
        healthzBindAddress: "127.0.0.1",
        authentication: {
            anonymous: { enabled: false },
            webhook: { enabled: true },
            x509: { clientCAFile: options.clientCa },
        },
        authorization: { mode: "Webhook" },
        tlsCertFile: options.certificate,
        tlsPrivateKeyFile: options.key,
        containerRuntimeEndpoint: `unix://${containerdSocket}`,
        clusterDomain: "cluster.local",
        clusterDNS: [options.dnsServiceAddress],
        resolvConf: "",
        cgroupDriver: "cgroupfs",
        cgroupRoot: options.cgroupRoot,
        // With false, resizing a pod in place crashes kubelet 1.36.3.
        cgroupsPerQOS: true,
        enforceNodeAllocatable: [],
        failCgroupV1: false,
        failSwapOn: false,
        makeIPTablesUtilChains: false,
        // Nodes share one disk, and no registry could give an image back: nothing is collected or evicted for want of space.
        imageGCHighThresholdPercent: 100,
        evictionHard: {
            "memory.available": "50Mi",
            "nodefs.available": "0%",
            "nodefs.inodesFree": "0%",
            "imagefs.available": "0%",
            "imagefs.inodesFree": "0%",
        },
        // The usual place is outside what a node has of its own.
        volumePluginDir: "/var/lib/kubelet/volume-plugins",
        // A test waits for pods to change, not for the kubelet to look again.
        syncFrequency: "10s",
        nodeStatusReportFrequency: "1m",
        serializeImagePulls: false,
        maxPods: 200,
    };
}
