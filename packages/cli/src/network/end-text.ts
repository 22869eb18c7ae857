import { isIP } from "node:net";
import { InvalidValue, UnclearEnd } from "../errors.ts";

/** A pod or a Service as somebody types it; without a namespace, that of `-n` is meant. */
export interface NamedText {
  readonly kind: "Pod" | "Service";
  readonly name: string;
  readonly namespace?: string;
}

/** One end of a path as somebody types it. */
export type EndText =
  | NamedText
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

/** Reads `web-1`, `shop/web-1`, `pod/web-1` or `pod/shop/web-1`, where only a pod can be meant; `option` is where it was typed. */
export function podText(option: string, text: string): NamedText {
  const parts = text.split("/");
  const [name = "", namespace, ...more] = parts.toReversed();
  const [type] = parts;
  const kind = type !== undefined && parts.length > 1 && Object.hasOwn(TYPES, type) ? TYPES[type] : undefined;
  const isPod = kind === "Pod" || (kind === undefined && parts.length < 3);
  if (!isPod || more.length > 1 || parts.includes("") || text.includes("@") || isIP(text) !== 0)
    throw new InvalidValue({
      option,
      value: JSON.stringify(text),
      reason: "it must be a pod: NAME, NAMESPACE/NAME or pod/NAMESPACE/NAME",
    });
  const isNamed = namespace !== undefined && (kind === undefined || parts.length === 3);
  return { kind: "Pod", name, ...(isNamed && { namespace }) };
}
