import { fieldsOf } from "../../fields-of.ts";
import { KubeRefusal } from "./kube-refusal.ts";

/** The addresses that an EndpointSlice, or a part of one, leads to. Throws `KubeRefusal` for what cannot be read as some. */
export function askedAddresses(slice: unknown): string[] {
  return listIn(slice, "endpoints").flatMap((endpoint) => {
    if (typeof endpoint !== "object" || endpoint === null || Array.isArray(endpoint)) throw unreadable("endpoints");
    return listIn(endpoint, "addresses").map((address) => {
      if (typeof address !== "string") throw unreadable("addresses");
      return address;
    });
  });
}

function listIn(value: unknown, name: string): readonly unknown[] {
  const found = fieldsOf(value)[name];
  if (found === undefined || found === null) return [];
  if (!Array.isArray(found)) throw unreadable(name);
  return found;
}

function unreadable(name: string): KubeRefusal {
  return new KubeRefusal(400, `${name} of an EndpointSlice cannot be read`);
}
