export interface InterfaceTraffic {
  readonly name: string;
  readonly receivedBytes: number;
  readonly sentBytes: number;
  readonly receiveErrors: number;
  readonly sendErrors: number;
}

/** The traffic of each interface but loopback, from the text of /proc/PID/net/dev. */
export function parseNetDev(text: string): InterfaceTraffic[] {
  return text.split("\n").flatMap((line) => {
    const [name, rest] = line.split(":");
    if (name === undefined || rest === undefined || name.trim() === "lo") return [];
    const numbers = rest.trim().split(/\s+/).map(Number);
    const [receivedBytes = 0, , receiveErrors = 0] = numbers;
    const [sentBytes = 0, , sendErrors = 0] = numbers.slice(8);
    return [{ name: name.trim(), receivedBytes, sentBytes, receiveErrors, sendErrors }];
  });
}
