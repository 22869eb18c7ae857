import { mkdir, writeFile } from "node:fs/promises";
import { clusterConfig, kubeconfigOf } from "@fjord/kube";
import { Authority, createSigningKey } from "./certificates.ts";
import { type SiteLayout, siteFiles, siteServer } from "./site-layout.ts";

/** Who speaks to the API server, and as whom. */
const clients: Readonly<Record<string, { commonName: string; organizations?: string[] }>> = {
  admin: { commonName: "kubernetes-admin", organizations: ["system:masters"] },
  "kube-controller-manager": { commonName: "system:kube-controller-manager" },
  "kube-scheduler": { commonName: "system:kube-scheduler" },
};

/** Writes every key, certificate and kubeconfig that a site's control plane needs. */
export async function createCredentials(layout: SiteLayout, now: number): Promise<void> {
  const files = siteFiles(layout);
  const { pki } = files;
  await mkdir(pki, { recursive: true, mode: 0o700 });
  // etcd and the front proxy trust an authority of their own: the site's signs certificates for whoever may ask the
  // API for one, and those must not open etcd or speak for others.
  const [ca, frontProxy, etcd] = await Promise.all([
    Authority.create(pki, "ca", now),
    Authority.create(pki, "front-proxy-ca", now),
    Authority.create(pki, "etcd-ca", now),
  ]);
  const loopback = { dnsNames: ["localhost"], addresses: ["127.0.0.1"] };
  const issued = Object.entries(clients).map(async ([name, subject]) => {
    const pair = await ca.issueTo(pki, name, { ...subject, ...loopback }, now);
    const server = siteServer(layout);
    const config = clusterConfig({ server, ca: ca.certificate, cert: pair.certificate, key: pair.key });
    await writeFile(files.kubeconfig(name), await kubeconfigOf(config, layout.name), { mode: 0o600 });
  });
  await Promise.all([
    ...issued,
    ca.issueTo(
      pki,
      "kube-apiserver",
      {
        commonName: "kube-apiserver",
        dnsNames: [
          "localhost",
          "kubernetes",
          "kubernetes.default",
          "kubernetes.default.svc",
          "kubernetes.default.svc.cluster.local",
          layout.name,
        ],
        addresses: layout.certificateAddresses,
        usages: ["server"],
      },
      now,
    ),
    ca.issueTo(
      pki,
      "kubelet-client",
      { commonName: "kube-apiserver-kubelet-client", organizations: ["system:masters"], usages: ["client"] },
      now,
    ),
    frontProxy.issueTo(pki, "front-proxy-client", { commonName: "front-proxy-client", usages: ["client"] }, now),
    etcd.issueTo(pki, "etcd", { commonName: "etcd", ...loopback }, now),
    etcd.issueTo(pki, "etcd-client", { commonName: "kube-apiserver", usages: ["client"] }, now),
    createSigningKey(pki, "service-account"),
  ]);
}
