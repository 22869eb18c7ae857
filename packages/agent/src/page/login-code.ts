import type { KubeClient } from "@fjord/kube";
import { proofName, requestProof } from "../proven-user.ts";

export const LOGIN = "page-login";

/** What a request for a code is called. */
export function loginName(code: string): string {
  return proofName(LOGIN, code);
}

/** Makes a code that opens the page once, as the user whom the client acts as. */
export async function requestLogin(client: KubeClient, signal?: AbortSignal): Promise<string> {
  return await requestProof(client, LOGIN, signal);
}

/** The path of the page that uses a code. What follows the `#` stays in the browser and is in no server's log. */
export function loginPath(code: string): string {
  return `/#login=${code}`;
}
