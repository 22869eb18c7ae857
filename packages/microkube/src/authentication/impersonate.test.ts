import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Attributes, Authorizer } from "../authorization/authorizer.ts";
import type { Caller } from "../cluster.ts";
import { impersonate } from "./impersonate.ts";
import { type Impersonation, impersonationOf } from "./impersonation.ts";

const list: Attributes = {
  verb: "list",
  group: "",
  version: "v1",
  resource: "pods",
  subresource: "",
  namespace: "",
  name: "",
};
const bot: Caller = { user: "bot", groups: [] };

function headersOf(given: Record<string, string | string[]>): Impersonation | undefined {
  const distinct = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, [value].flat()]));
  const joined = Object.fromEntries(Object.entries(distinct).map(([name, values]) => [name, values.join(", ")]));
  return impersonationOf({ headers: joined, headersDistinct: distinct });
}

/** Allows what is written so: `impersonate users/jane`. */
function allowing(...allowed: string[]): Authorizer & { asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    authorize(_, attributes) {
      if ("path" in attributes) throw new Error("no path was asked");
      const { verb, group, resource, subresource, namespace, name } = attributes;
      const what = [group, resource, subresource, namespace, name].filter((part) => part !== "").join("/");
      asked.push(`${verb} ${what}`);
      return { allowed: allowed.includes("*") || allowed.includes(`${verb} ${what}`), reason: "" };
    },
  };
}

describe("headers of impersonation", () => {
  it("are none, or a user with what belongs to it", () => {
    assert.equal(headersOf({ accept: "x" }), undefined);
    assert.equal(headersOf({ "impersonate-user": "" }), undefined);
    const given = { "impersonate-user": "jane", "impersonate-group": ["a", "b"], "impersonate-extra-x%2fy": "z" };
    assert.deepEqual(headersOf(given), { user: "jane", groups: ["a", "b"], uid: "", extra: { "x/y": ["z"] } });
  });

  it("are refused without a user", () => {
    const message =
      'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"g1"}, Extra:map[string][]string{"foo/b":[]string{"v"}}} without impersonating a user name';
    const given = { "impersonate-group": "g1", "impersonate-extra-foo%2fb": "v" };
    assert.throws(() => headersOf(given), { code: 400, message });
    assert.throws(
      () => headersOf({ "impersonate-uid": "1" }),
      /Groups:\[\]string\(nil\), Extra:map\[string\]\[\]string\(nil\)}/,
    );
  });
});

describe("impersonation", () => {
  const as = (given: Record<string, string | string[]>, authorizer: Authorizer, caller = bot) =>
    impersonate(caller, headersOf(given) as Impersonation, list, authorizer);

  it("needs leave for the user, each group, the uid and each extra value", async () => {
    const authorizer = allowing(
      "impersonate users/jane",
      "impersonate groups/a",
      "impersonate authentication.k8s.io/uids/7",
      "impersonate authentication.k8s.io/userextras/scope/x",
    );
    const given = { "impersonate-user": "jane", "impersonate-group": "a", "impersonate-uid": "7" };
    const caller = await as({ ...given, "impersonate-extra-scope": "x" }, authorizer);
    assert.deepEqual(caller, {
      user: "jane",
      uid: "7",
      groups: ["a", "system:authenticated"],
      extra: { scope: ["x"] },
    });
    await assert.rejects(as({ ...given, "impersonate-extra-scope": "y" }, authorizer), { code: 403 });
    await assert.rejects(as({ ...given, "impersonate-group": ["a", "system:masters"] }, authorizer), {
      message:
        'groups "system:masters" is forbidden: User "bot" cannot impersonate resource "groups" in API group "" at the cluster scope',
    });
  });

  it("is refused in the words of the newer way", async () => {
    await assert.rejects(as({ "impersonate-user": "jane" }, allowing()), {
      code: 403,
      message:
        'pods is forbidden: User "bot" cannot impersonate-on:user-info:list resource "pods" in API group "" at the cluster scope',
    });
  });

  it("may be allowed for some requests only", async () => {
    const authorizer = allowing(
      "impersonate-on:user-info:list pods",
      "impersonate:user-info authentication.k8s.io/users/jane",
    );
    assert.equal((await as({ "impersonate-user": "jane" }, authorizer)).user, "jane");
    await assert.rejects(
      as({ "impersonate-user": "jim" }, authorizer),
      /cannot impersonate:user-info resource "users"/,
    );
  });

  it("gives service accounts, nodes and strangers the groups that are theirs", async () => {
    const groups = async (user: string, group: string[] = []) =>
      (await as({ "impersonate-user": user, ...(group.length > 0 && { "impersonate-group": group }) }, allowing("*")))
        .groups;
    assert.deepEqual(await groups("system:serviceaccount:shop:web"), [
      "system:serviceaccounts",
      "system:serviceaccounts:shop",
      "system:authenticated",
    ]);
    assert.deepEqual(await groups("system:serviceaccount:shop:web", ["x"]), ["x", "system:authenticated"]);
    assert.deepEqual(await groups("system:node:n1"), ["system:nodes", "system:authenticated"]);
    assert.deepEqual(await groups("system:anonymous"), ["system:unauthenticated"]);
    assert.deepEqual(await groups("jane", ["system:unauthenticated"]), ["system:unauthenticated"]);
  });

  it("of its own node is a permission of its own", async () => {
    const extra = { "authentication.kubernetes.io/node-name": ["n1"] };
    const caller = { user: "system:serviceaccount:kube-system:agent", groups: [], extra };
    const authorizer = allowing(
      "impersonate-on:associated-node:list pods",
      "impersonate:associated-node authentication.k8s.io/nodes/*",
    );
    assert.equal((await as({ "impersonate-user": "system:node:n1" }, authorizer, caller)).user, "system:node:n1");
    await assert.rejects(as({ "impersonate-user": "system:node:n2" }, authorizer, caller), { code: 403 });
  });
});
