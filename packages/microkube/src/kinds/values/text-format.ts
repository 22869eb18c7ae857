import { isIP, isIPv4, isIPv6 } from "node:net";

const patterns: Readonly<Record<string, RegExp>> = {
  date: /^\d{4}-\d{2}-\d{2}$/,
  "date-time": /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/,
  duration: /^-?(\d+(\.\d+)?\s*[a-zµ]+\s*)+$/i,
  email: /^[^@\s]+@[^@\s]+$/,
  uuid: /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i,
  uuid3: /^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i,
  uuid4: /^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i,
  uuid5: /^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i,
  mac: /^([0-9a-f]{2}[:-]){5}[0-9a-f]{2}$/i,
  hexcolor: /^#?([0-9a-f]{3}|[0-9a-f]{6})$/i,
  byte: /^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/,
  hostname: /^[a-zA-Z0-9]([a-zA-Z0-9-]{0,62}[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]{0,62}[a-zA-Z0-9])?)*$/,
  creditcard: /^\d{12,19}$/,
  ssn: /^\d{3}[- ]?\d{2}[- ]?\d{4}$/,
};

/** Formats that are not known are not asked about. */
export function isOfFormat(value: string, format: string): boolean {
  switch (format) {
    case "ipv4":
      return isIPv4(value);
    case "ipv6":
      return isIPv6(value);
    case "cidr": {
      const [ip = "", bits = ""] = value.split("/");
      return isIP(ip) !== 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (isIPv6(ip) ? 128 : 32);
    }
    case "uri":
      return URL.canParse(value) || value.startsWith("/");
    case "date":
    case "date-time":
      return (patterns[format] as RegExp).test(value) && !Number.isNaN(Date.parse(value)) && isDay(value);
    default:
      // A definition may name whatever objects have from the start.
      return !Object.hasOwn(patterns, format) || (patterns[format] as RegExp).test(value);
  }
}

/** JavaScript takes the 30th of February for a day in March. */
function isDay(value: string): boolean {
  const day = value.slice(0, 10);
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);
}
