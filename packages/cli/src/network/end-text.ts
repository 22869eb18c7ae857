import { isIP } from "node:net";
import { UnclearEnd } from "../errors.ts";

/** One end of a path as somebody types it. */
export type EndText =
  | { readonly kind: "Pod" | "Service"; readonly name: string; readonly namespace?: string }
  /** `site`: the one whose own address it is; else it is what the address is called here. */
  | { readonly kind: "Address"; readonly address: string; readonly site?: string };

const TYPES: Readonly<Record<string, "Pod" | "Service">> = {
  pod: "Pod",
  pods: "Pod",
  po: "Pod",
  service: "Service",
  services: "Service",
  svc: "Service",
};

/** Reads `web-1`, `pod/web-1`, `service/shop/web`, `10.42.0.7` or `10.42.0.7@wave`. */
export function endText(text: string): EndText {
  const [address = "", site, ...rest] = text.split("@");
  if (isIP(address) !== 0 && rest.length === 0 && site !== "")
    return { kind: "Address", address, ...(site !== undefined && { site }) };
  const parts = text.split("/");
  if (text.includes("@") || parts.some((part) => part === "") || parts.length > 3)
    throw new UnclearEnd({ end: text, reason: "it is neither an address nor TYPE/NAME" });
  const [type = "", ...names] = parts.length === 1 ? ["pod", ...parts] : parts;
  const kind = Object.hasOwn(TYPES, type) ? TYPES[type] : undefined;
  if (kind === undefined) throw new UnclearEnd({ end: text, reason: `${type} is neither pod nor service` });
  const name = names.at(-1) ?? "";
  return { kind, name, ...(names.length === 2 && { namespace: names[0] as string }) };
}
