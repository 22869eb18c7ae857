import { InvalidValue } from "../errors.ts";

const HOST = String.raw`(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?|\[[0-9a-fA-F:]+\])(?::\d{1,5})?`;
const PART = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*";
const IMAGE = new RegExp(
  String.raw`^(?:${HOST}/)?${PART}(?:/${PART})*(?::[\w][\w.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$`,
);

/** An image as runtimes take it: `registry.example:5000/fjord/agent:1.0`, also by its digest. */
export function checkedImage(option: string, image: string): string {
  if (image.length <= 512 && IMAGE.test(image)) return image;
  const reason = "it must be an image such as registry.example/fjord/agent:1.0";
  throw new InvalidValue({ option, value: image === "" ? "empty" : JSON.stringify(image), reason });
}

/** A name that the API takes for most objects, a Site, a Peering or a Node among them. */
export function checkedName(option: string, name: string): string {
  const part = "[a-z0-9](?:[a-z0-9-]*[a-z0-9])?";
  if (name.length <= 253 && new RegExp(String.raw`^${part}(?:\.${part})*$`).test(name)) return name;
  const reason =
    "a name has lowercase letters, digits, hyphens and dots, and begins and ends with one of the first two";
  throw new InvalidValue({ option, value: name === "" ? "empty" : JSON.stringify(name), reason });
}

/** A name that the API takes for a namespace. */
export function checkedNamespace(option: string, name: string): string {
  if (/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(name)) return name;
  const reason =
    "a namespace has at most 63 lowercase letters, digits and hyphens, and begins and ends with one of the former";
  throw new InvalidValue({ option, value: name === "" ? "empty" : JSON.stringify(name), reason });
}
