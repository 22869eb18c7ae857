import { der, readDer } from "@fjord/base";

/** Country, organization, unit, locality, province, street, postal code, common name, serial number. */
const ORDER = ["6", "10", "11", "7", "8", "9", "17", "3", "5"].map((part) => `2.5.4.${part}`);

/** The subject of a request as Kubernetes writes it into certificates: in one order, with all values of a kind together. */
export function certificateSubject(name: Uint8Array): Buffer {
  const attributes = readDer(name).children.flatMap((set) => set.children);
  const sets = ORDER.map((oid) => attributes.filter((attribute) => attribute.child(0).objectId === oid));
  const written = sets
    .filter((values) => values.length > 0)
    .map((values) => der.set(...values.map(({ raw }) => raw).sort(Buffer.compare)));
  return der.sequence(...written);
}
