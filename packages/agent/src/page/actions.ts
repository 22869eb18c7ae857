import { Contract, group, Site } from "@fjord/api";
import { DaemonSet, Deployment, type KubeClient, StatefulSet } from "@fjord/kube";
import { moveWorkload, type Place } from "../move/index.ts";
import type { AccessRights } from "./access-rights.ts";
import { ActionRefused } from "./errors.ts";
import { pairAndPeer } from "./pair-and-peer.ts";

export interface ActionContext {
  /** Acts as the viewer: what RBAC does not let them do, is refused by the API. */
  readonly client: KubeClient;
  readonly rights: AccessRights;
  readonly namespace: string;
  readonly demo?: string;
  readonly signal: AbortSignal;
}

type Body = Readonly<Record<string, unknown>>;
type Action = (body: Body, context: ActionContext) => Promise<string>;

/** What can be done from the page. Each gives a sentence that says what was done. */
export const ACTIONS: Readonly<Record<string, Action>> = {
  cordon: (body, context) => standing(body, "Cordoned", context),
  drain: (body, context) => standing(body, "Drained", context),
  uncordon: (body, context) => standing(body, "Open", context),
  peer,
  move,
  cut: (body, context) => reach(body, true, context),
  heal: (body, context) => reach(body, false, context),
};

async function standing(body: Body, wanted: "Open" | "Cordoned" | "Drained", { client, signal }: ActionContext) {
  const contract = text(body, "contract");
  await client.patch(
    Contract,
    { name: contract },
    "merge",
    { spec: { standing: wanted } },
    { fieldManager: "fjord-page", signal },
  );
  return `Contract ${contract} is ${wanted.toLowerCase()}.`;
}

async function peer(body: Body, { client, namespace, signal }: ActionContext) {
  const resources = Object.fromEntries(
    ["cpu", "memory", "pods"].flatMap((name) => {
      const amount = body[name];
      return typeof amount === "string" && amount !== "" ? [[name, amount]] : [];
    }),
  );
  if (Object.keys(resources).length === 0) throw refusal("peer", "say how much is wanted: processors, memory or pods");
  const token = text(body, "token").trim();
  const site = await pairAndPeer(client, { token, resources, bothWays: body.bothWays === true, namespace }, signal);
  return `Paired with ${site}, and asked it for a slice.`;
}

const MOVABLE = { Deployment, StatefulSet, DaemonSet } as const;

async function move(body: Body, { client, signal }: ActionContext) {
  const [namespace, kindName, name] = ["namespace", "kind", "name"].map((field) => text(body, field)) as [
    string,
    string,
    string,
  ];
  const kind = Object.hasOwn(MOVABLE, kindName) ? MOVABLE[kindName as keyof typeof MOVABLE] : undefined;
  if (kind === undefined)
    throw refusal("move", `a ${kindName} cannot be moved: only ${Object.keys(MOVABLE).join(", ")}`);
  const to = text(body, "to");
  const place = await placeOf(to, client, signal);
  const called = to === "home" ? "this site" : to;
  const refused = (reason: string) => refusal(`move ${name} to ${called}`, reason);
  const wanted = { key: { namespace, name }, place, called, refusal: refused, fieldManager: "fjord-page" };
  await moveWorkload(client, { ...wanted, kind: kind as typeof Deployment }, signal);
  return to === "anywhere" ? `${name} runs wherever the scheduler likes.` : `${name} moves to ${called}.`;
}

async function placeOf(to: string, client: KubeClient, signal: AbortSignal): Promise<Place> {
  if (to === "home" || to === "anywhere") return to;
  const site = await client.get(Site, { name: to }, { signal });
  const id = site.status?.id ?? site.spec.id;
  if (site.status?.role === "Self") return "home";
  if (id === undefined) throw refusal("move", `${to} has not shown its id yet`);
  return { site: id };
}

/** A demo holds the network between its sites; whoever may change a site there may cut it off. */
async function reach(body: Body, cut: boolean, { rights, demo, signal }: ActionContext) {
  const action = cut ? "cut a site off" : "bring a site back";
  if (demo === undefined) throw refusal(action, "that is for demos, and this agent is not in one");
  const site = text(body, "site");
  if (!(await rights.may({ group, resource: "sites", verb: "update" }, signal)))
    throw refusal(action, "you may not update sites here");
  const answer = await fetch(demo, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ site, cut }),
    signal,
  });
  if (!answer.ok) throw refusal(action, `the demo answered ${answer.status}: ${(await answer.text()).slice(0, 200)}`);
  return cut ? `${site} is cut off.` : `${site} is connected again.`;
}

function text(body: Body, field: string): string {
  const value = body[field];
  if (typeof value === "string" && value !== "") return value;
  throw refusal("do that", `${field} is missing`);
}

function refusal(action: string, reason: string): Error {
  return new ActionRefused({ action, reason });
}
