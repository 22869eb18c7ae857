import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import type { ReleaseSites } from "./download.ts";

/** A web server with the given files, standing in for the release sites until the test ends. */
export async function startReleaseServer(
  t: TestContext,
  files: Readonly<Record<string, string | Buffer>>,
): Promise<{ sites: ReleaseSites; requests: string[] }> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.url}`);
    const body = files[`${request.url}`];
    if (body === undefined) response.writeHead(404).end();
    else response.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { sites: { kubernetes: address, github: address }, requests };
}

export function sha256(body: string | Buffer): string {
  return createHash("sha256").update(body).digest("hex");
}
