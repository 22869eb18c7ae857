import { request } from "node:https";
import type { TlsConfig } from "@fjord/kube";

export interface ProbeAnswer {
  /** HTTP status; 0 when no answer came. */
  status: number;
  /** The body, or why there is none. */
  text: string;
}

/** One GET over a connection of its own, for asking a server that may not be up. It never throws. */
export function probe(url: string, tls: TlsConfig, timeout = 5_000): Promise<ProbeAnswer> {
  return new Promise((resolve) => {
    const failed = (error: Error) => resolve({ status: 0, text: error.message });
    const { ca, cert, key } = tls;
    const outgoing = request(
      url,
      { ca, cert, key, agent: false, timeout, headers: { accept: "application/json" } },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => {
          text += chunk;
        });
        response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
        response.on("error", failed);
      },
    );
    outgoing.on("timeout", () => outgoing.destroy(new Error(`no answer within ${timeout} ms`)));
    outgoing.on("error", failed);
    outgoing.end();
  });
}
