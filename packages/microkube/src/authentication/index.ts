export type { Authenticator } from "./authenticator.ts";
export * from "./authority.ts";
export { ClusterCredentials, type ClusterCredentialsOptions } from "./cluster-credentials.ts";
export * from "./errors.ts";
export { parseSigningRequest } from "./signing-request.ts";
