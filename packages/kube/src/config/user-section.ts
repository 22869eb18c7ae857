import type { TlsConfig } from "./cluster-config.ts";
import { basicAuthentication, bearerToken, type CredentialSources, type WritableCredentials } from "./credentials.ts";
import type { ExecCluster } from "./exec-credential.ts";
import { execPluginOf } from "./exec-section.ts";
import { type Impersonation, identityProblem, isHeaderSafe } from "./impersonation.ts";
import { pairProblem } from "./pem.ts";
import { readPemField } from "./pem-field.ts";
import type { Section } from "./section.ts";
import { TokenFile } from "./token-file.ts";

/** The half of a configuration that a user entry gives. */
export interface UserPart {
  readonly tls: Pick<TlsConfig, "cert" | "key">;
  readonly credentials?: WritableCredentials;
  readonly impersonation?: Impersonation;
}

/** Looks up and checks everything in a user entry. */
export async function resolveUser(
  section: Section,
  cluster: ExecCluster,
  sources: CredentialSources,
): Promise<UserPart> {
  if (section.raw("auth-provider") !== undefined) {
    throw section.wrong("auth-provider", "Kubernetes removed these in 1.26; use an exec plugin instead");
  }
  const tls = await resolvePair(section, sources.clock.now());
  const credentials = await resolveCredentials(section, cluster, sources);
  const impersonation = resolveImpersonation(section);
  return {
    tls,
    ...(credentials === undefined ? {} : { credentials }),
    ...(impersonation === undefined ? {} : { impersonation }),
  };
}

async function resolvePair(section: Section, now: number): Promise<Pick<TlsConfig, "cert" | "key">> {
  const cert = await readPemField(section, "client-certificate");
  const key = await readPemField(section, "client-key");
  if (cert === undefined && key === undefined) return {};
  if (key === undefined)
    throw section.wrong("client-key", `missing, and ${cert?.name} needs it (client-key or client-key-data)`);
  if (cert === undefined) {
    throw section.wrong(
      "client-certificate",
      `missing, and ${key.name} needs it (client-certificate or client-certificate-data)`,
    );
  }
  const problem = pairProblem(cert.pem, key.pem, now);
  if (problem !== undefined) throw section.wrong(cert.name, problem);
  return { cert: cert.pem, key: key.pem };
}

// As for kubectl, what is written down wins over what a plugin would give.
async function resolveCredentials(
  section: Section,
  cluster: ExecCluster,
  sources: CredentialSources,
): Promise<WritableCredentials | undefined> {
  const token = resolveToken(section);
  const path = section.filePath("tokenFile");
  const basic = resolveBasic(section);
  if (basic !== undefined && (token !== undefined || path !== undefined)) {
    throw section.wrong("username", `cannot stand together with ${path === undefined ? "token" : "tokenFile"}`);
  }
  if (path !== undefined) {
    const { clock, logger } = sources;
    const file = new TokenFile({ path, where: section.where("tokenFile"), clock, logger, ...(token ? { token } : {}) });
    await file.current();
    return file;
  }
  if (token !== undefined) return bearerToken(token);
  if (basic !== undefined) return basic;
  const exec = section.section("exec");
  return exec === undefined ? undefined : execPluginOf(exec, cluster, sources);
}

function resolveToken(section: Section): string | undefined {
  const token = section.string("token");
  if (token !== undefined && !isHeaderSafe(token))
    throw section.wrong("token", "holds a line break or another control character");
  return token;
}

function resolveBasic(section: Section): WritableCredentials | undefined {
  const username = section.string("username");
  const password = section.string("password");
  if (username === undefined && password === undefined) return undefined;
  if (username === undefined) throw section.wrong("username", "missing, and password needs it");
  if (password === undefined) throw section.wrong("password", "missing, and username needs it");
  if (username.includes(":")) throw section.wrong("username", "must not hold a colon");
  return basicAuthentication(username, password);
}

function resolveImpersonation(section: Section): Impersonation | undefined {
  const user = section.string("as");
  const groups = section.strings("as-groups");
  const uid = section.string("as-uid");
  const extraSection = section.section("as-user-extra");
  if (user === undefined) {
    if (groups.length === 0 && uid === undefined && extraSection === undefined) return undefined;
    throw section.wrong("as", "missing, and as-groups, as-uid and as-user-extra need it");
  }
  const keys = Object.keys((section.raw("as-user-extra") as Record<string, unknown> | undefined) ?? {});
  const extra = Object.fromEntries(keys.map((key) => [key, extraSection?.strings(key) ?? []]));
  for (const [name, values] of [
    ["as", [user]],
    ["as-uid", uid === undefined ? [] : [uid]],
    ["as-groups", groups],
  ] as const) {
    const problem = values.map(identityProblem).find((one) => one !== undefined);
    if (problem !== undefined) throw section.wrong(name, problem);
  }
  if (!Object.values(extra).flat().every(isHeaderSafe))
    throw section.wrong("as-user-extra", "holds a line break or another control character");
  return { user, groups, ...(uid === undefined ? {} : { uid }), extra };
}
