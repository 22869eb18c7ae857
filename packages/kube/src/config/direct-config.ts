import { type Clock, type Logger, silentLogger, systemClock } from "@fjord/base";
import type { ClusterConfig, Credentials, TlsConfig } from "./cluster-config.ts";
import { basicAuthentication, bearerToken } from "./credentials.ts";
import { ClusterConfigInvalid } from "./errors.ts";
import { isImpersonation, mergeHeaders } from "./headers.ts";
import { type Impersonation, impersonationHeaders, isHeaderSafe } from "./impersonation.ts";
import { certificateProblem, keyProblem, pairProblem } from "./pem.ts";
import { checkProxyUrl, checkServerUrl, type UrlCheck } from "./server-url.ts";
import { TokenFile } from "./token-file.ts";

/** A configuration in the caller's own words. PEM texts, not paths. */
export interface DirectOptions extends TlsConfig {
  readonly server: string;
  /** @default "default" */
  readonly namespace?: string;
  /** At most one of these four. */
  readonly token?: string;
  readonly tokenFile?: string;
  readonly basic?: { readonly username: string; readonly password: string };
  readonly credentials?: Credentials;
  readonly impersonate?: Impersonation;
  readonly headers?: ClusterConfig["headers"];
  readonly proxy?: string;
  readonly clock?: Clock;
  readonly logger?: Logger;
}

/** Makes a configuration without any file, with the same checks that a kubeconfig gets. */
export function clusterConfig(options: DirectOptions): ClusterConfig {
  const tls = checkedTls(options);
  const credentials = credentialsOf(options);
  const headers = headersOf(options);
  return {
    server: accepted("server", checkServerUrl(options.server, Object.keys(tls).length > 0)),
    namespace: options.namespace ?? "default",
    tls,
    ...(credentials === undefined ? {} : { credentials }),
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    ...(options.proxy === undefined ? {} : { proxy: accepted("proxy", checkProxyUrl(options.proxy)) }),
  };
}

function headersOf({ impersonate, headers }: DirectOptions): NonNullable<ClusterConfig["headers"]> {
  const own = impersonate === undefined ? undefined : Object.keys(headers ?? {}).find(isImpersonation);
  refuse("headers", own === undefined ? undefined : `${own} cannot stand together with impersonate: name one identity`);
  return mergeHeaders(impersonate && impersonationHeaders(impersonate), headers);
}

function checkedTls(options: DirectOptions): TlsConfig {
  const { ca, cert, key, serverName, insecureSkipVerify } = options;
  refuse("ca", ca === undefined ? undefined : certificateProblem(ca));
  refuse("cert", cert === undefined ? undefined : certificateProblem(cert));
  refuse("key", key === undefined ? undefined : keyProblem(key));
  if ((cert === undefined) !== (key === undefined))
    refuse(cert === undefined ? "cert" : "key", "missing: certificate and key go together");
  if (cert !== undefined && key !== undefined)
    refuse("cert", pairProblem(cert, key, (options.clock ?? systemClock).now()));
  if (insecureSkipVerify && ca !== undefined) refuse("insecureSkipVerify", "cannot be true together with ca");
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert, key }),
    ...(serverName === undefined ? {} : { serverName }),
    ...(insecureSkipVerify ? { insecureSkipVerify } : {}),
  };
}

function credentialsOf(options: DirectOptions): Credentials | undefined {
  const { token, tokenFile, basic, credentials, clock = systemClock, logger = silentLogger } = options;
  const given = Object.entries({ token, tokenFile, basic, credentials }).filter(([, value]) => value !== undefined);
  if (given.length > 1) refuse(given.map(([name]) => name).join(", "), "only one of these can be given");
  if (tokenFile !== undefined) return new TokenFile({ path: tokenFile, where: "tokenFile", clock, logger });
  if (token !== undefined) {
    refuse("token", isHeaderSafe(token) ? undefined : "holds a line break or another control character");
    return bearerToken(token);
  }
  return basic === undefined ? credentials : basicAuthentication(basic.username, basic.password);
}

function refuse(field: string, problem: string | undefined): void {
  if (problem !== undefined) throw new ClusterConfigInvalid({ field, problem });
}

function accepted(field: string, check: UrlCheck): string {
  if ("problem" in check) throw new ClusterConfigInvalid({ field, problem: check.problem });
  return check.url;
}
