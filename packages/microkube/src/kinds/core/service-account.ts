import type { KubeObject } from "@fjord/base";
import type { IServiceAccount } from "kubernetes-models/v1/ServiceAccount";
import { invalidField, required } from "../../field-error.ts";
import { badRequest, invalid, notFound, StatusError } from "../../status-error.ts";
import { columnsOf } from "../columns.ts";
import { defineResource, type KindDefinition } from "../kind.ts";
import type { CompleteMeans } from "../kind-means.ts";
import type { ResourceType } from "../resource-type.ts";

interface TokenRequest extends KubeObject {
  spec?: { audiences?: string[]; expirationSeconds?: number; boundObjectRef?: { kind?: string; name?: string } };
}

const shortest = 10 * 60;
const longest = 2 ** 32;

export function serviceAccount({ issueToken }: CompleteMeans): KindDefinition {
  return defineResource<IServiceAccount>({
    group: "",
    kind: "ServiceAccount",
    subresources: {
      token: {
        type: "action",
        verbs: ["create"],
        kind: { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" },
        async act({ cluster, caller, namespace, name, body }) {
          const type = cluster.types.ofKind("", "ServiceAccount") as ResourceType;
          const account = cluster.get(type, namespace, name);
          if (account === undefined) throw notFound(type, name);
          if (body === undefined) throw badRequest("a TokenRequest is needed");
          if (body.metadata?.name && body.metadata.name !== name) {
            const text = `the name of the object (${body.metadata.name}) does not match the name on the URL (${name})`;
            throw badRequest(text);
          }
          checkRequest(body);
          if (issueToken === undefined) throw new StatusError(501, "NotImplemented", "this server issues no tokens");
          body.metadata = { ...body.metadata, name, namespace };
          return issueToken(account, body, { cluster, caller });
        },
      },
    },
    columns: columnsOf<IServiceAccount>(),
  });
}

/** Fills in an hour, and refuses what is too short or too long. */
function checkRequest(request: TokenRequest): void {
  request.spec ??= {};
  const { spec } = request;
  spec.expirationSeconds ??= 3600;
  const path = "spec.expirationSeconds";
  const kind = { group: "authentication.k8s.io", kind: "TokenRequest" };
  const errors = [];
  if (spec.expirationSeconds < shortest) {
    const text = "may not specify a duration less than 10 minutes";
    errors.push(invalidField(path, spec.expirationSeconds, text));
  }
  if (spec.expirationSeconds > longest) {
    const text = "may not specify a duration larger than 2^32 seconds";
    errors.push(invalidField(path, spec.expirationSeconds, text));
  }
  if (spec.boundObjectRef !== undefined && !spec.boundObjectRef.name) {
    errors.push(required("spec.boundObjectRef.name"));
  }
  if (errors.length > 0) throw invalid(kind, "", errors);
}
