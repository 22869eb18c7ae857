import type { Attributes, Authorizer } from "../authorization/authorizer.ts";
import { forbiddenRequest } from "../authorization/forbidden.ts";
import type { Caller } from "../cluster.ts";
import type { StatusError } from "../status-error.ts";
import type { Impersonation } from "./impersonation.ts";
import { ANONYMOUS } from "./request-authenticator.ts";
import { serviceAccountOf } from "./service-account-caller.ts";

const NODE = "system:node:";
const nodeOf = (user: string) => (user.startsWith(NODE) && user.length > NODE.length ? user.slice(NODE.length) : "");

/**
 * The caller that a request (of which `attributes` tell) acts as. One of two permissions is needed: the old one, to
 * impersonate for whatever request; or that for requests like this one, `impersonate-on:<mode>:<verb>`. Throws (403).
 */
export async function impersonate(
  caller: Caller,
  wanted: Impersonation,
  attributes: Attributes,
  authorizer: Authorizer,
): Promise<Caller> {
  const ask = (question: Attributes) => check(caller, question, authorizer);
  const constrained = modesOf(caller, wanted).map((mode) => async () => {
    const on = await ask({ ...attributes, verb: `impersonate-on:${mode}:${attributes.verb}` });
    return on ?? (await firstRefusal(questions(wanted, mode), ask));
  });
  const legacy = () => firstRefusal(questions(wanted), ask);
  // Nodes get their group in the newer modes only, which therefore come first; for all others the cheaper way does.
  const isNode = nodeOf(wanted.user) !== "";
  const ways = isNode ? [...constrained, legacy] : [legacy, ...constrained];
  const refusals: StatusError[] = [];
  for (const way of ways) {
    const refusal = await way();
    if (refusal === undefined) return callerOf(wanted, isNode && way !== legacy);
    refusals.push(refusal);
  }
  // The real server asks the newer modes first, and tells of the first refusal.
  const told = isNode || refusals.length === 1 ? refusals[0] : refusals[1];
  throw told ?? forbiddenRequest(caller, attributes);
}

async function check(caller: Caller, question: Attributes, authorizer: Authorizer): Promise<StatusError | undefined> {
  const { allowed, reason } = await authorizer.authorize(caller, question);
  return allowed ? undefined : forbiddenRequest(caller, question, reason);
}

async function firstRefusal(
  all: readonly Attributes[],
  ask: (question: Attributes) => Promise<StatusError | undefined>,
): Promise<StatusError | undefined> {
  for (const question of all) {
    const refusal = await ask(question);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

type Mode = "associated-node" | "arbitrary-node" | "serviceaccount" | "user-info";

function modesOf(caller: Caller, { user, groups, uid, extra }: Impersonation): Mode[] {
  const isNameOnly = groups.length === 0 && uid === "" && Object.keys(extra).length === 0;
  const node = nodeOf(user);
  if (node !== "") {
    const own = caller.extra?.["authentication.kubernetes.io/node-name"];
    const isOwn = serviceAccountOf(caller.user) !== undefined && own?.length === 1 && own[0] === node;
    return isNameOnly ? [...(isOwn ? (["associated-node"] as const) : []), "arbitrary-node"] : [];
  }
  if (serviceAccountOf(user) !== undefined) return isNameOnly ? ["serviceaccount"] : [];
  return groups.includes("system:masters") || groups.includes("") ? [] : ["user-info"];
}

/** What the caller needs to be allowed; without a mode, in the old way. */
function questions({ user, groups, uid, extra }: Impersonation, mode?: Mode): Attributes[] {
  const verb = mode === undefined ? "impersonate" : `impersonate:${mode}`;
  const other = { verb, group: "authentication.k8s.io", version: "v1", subresource: "", namespace: "" };
  const about = mode === undefined ? { ...other, group: "" } : other;
  const account = serviceAccountOf(user);
  const node = mode === "associated-node" ? "*" : nodeOf(user);
  const who = account
    ? { ...about, ...account, resource: "serviceaccounts" }
    : mode !== undefined && node !== ""
      ? { ...about, resource: "nodes", name: node }
      : { ...about, resource: "users", name: user };
  return [
    who,
    ...(uid === "" ? [] : [{ ...other, resource: "uids", name: uid }]),
    ...groups.map((name) => ({ ...about, resource: "groups", name })),
    ...Object.entries(extra).flatMap(([subresource, names]) =>
      names.map((name) => ({ ...other, resource: "userextras", subresource, name })),
    ),
  ];
}

/** Given groups are all there are; but everybody is either authenticated or not. */
function callerOf({ user, groups, uid, extra }: Impersonation, isNode: boolean): Caller {
  const account = serviceAccountOf(user);
  const fixed = account ? ["system:serviceaccounts", `system:serviceaccounts:${account.namespace}`] : [];
  const own = isNode ? ["system:nodes"] : groups.length > 0 ? [...groups] : fixed;
  const rest = user === ANONYMOUS.user ? "system:unauthenticated" : "system:authenticated";
  const isSettled = own.includes(rest) || own.includes("system:unauthenticated");
  return {
    user,
    ...(uid !== "" && { uid }),
    groups: isSettled ? own : [...own, rest],
    ...(Object.keys(extra).length > 0 && { extra }),
  };
}
