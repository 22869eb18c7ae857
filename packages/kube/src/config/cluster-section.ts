import type { TlsConfig } from "./cluster-config.ts";
import type { ExecCluster } from "./exec-credential.ts";
import { readPemField } from "./pem-field.ts";
import { isMapping, type Section } from "./section.ts";
import { checkProxyUrl, checkServerUrl, type UrlCheck } from "./server-url.ts";

/** The half of a configuration that a cluster entry gives. */
export interface ClusterPart {
  readonly server: string;
  readonly tls: Pick<TlsConfig, "ca" | "serverName" | "insecureSkipVerify">;
  readonly proxy?: string;
}

/** Looks up and checks everything in a cluster entry. */
export async function resolveCluster(section: Section): Promise<ClusterPart> {
  const ca = await readPemField(section, "certificate-authority");
  const insecure = section.boolean("insecure-skip-tls-verify");
  if (insecure && ca !== undefined) {
    throw section.wrong("insecure-skip-tls-verify", `cannot be true together with ${ca.name}`);
  }
  const serverName = section.string("tls-server-name");
  const server = section.string("server");
  if (server === undefined) throw section.wrong("server", "missing");
  const proxy = section.string("proxy-url");
  return {
    server: accepted(section, "server", checkServerUrl(server, insecure || ca !== undefined)),
    tls: {
      ...(ca === undefined ? {} : { ca: ca.pem }),
      ...(serverName === undefined ? {} : { serverName }),
      ...(insecure ? { insecureSkipVerify: true } : {}),
    },
    ...(proxy === undefined ? {} : { proxy: accepted(section, "proxy-url", checkProxyUrl(proxy)) }),
  };
}

/** What a plugin that asks for it is told about the cluster. */
export function execClusterOf(section: Section, part: ClusterPart): ExecCluster {
  const extension = section
    .sections("extensions")
    .find((entry) => entry.string("name") === "client.authentication.k8s.io/exec")
    ?.raw("extension");
  return {
    server: part.server,
    ...(part.tls.serverName === undefined ? {} : { "tls-server-name": part.tls.serverName }),
    ...(part.tls.insecureSkipVerify ? { "insecure-skip-tls-verify": true } : {}),
    ...(part.tls.ca === undefined ? {} : { "certificate-authority-data": Buffer.from(part.tls.ca).toString("base64") }),
    ...(part.proxy === undefined ? {} : { "proxy-url": part.proxy }),
    ...(isMapping(extension) ? { config: extension } : {}),
  };
}

function accepted(section: Section, name: string, check: UrlCheck): string {
  if ("problem" in check) throw section.wrong(name, check.problem);
  return check.url;
}
