import type { IncomingMessage } from "node:http";

/** What another server has answered: its status, and all of its text. Rejects what is larger than anything that is asked for. */
export function wholeAnswer(response: IncomingMessage, mostBytes: number): Promise<{ status: number; text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  const chunks: Buffer[] = [];
  let size = 0;
  response.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size > mostBytes) response.destroy(new Error("the answer is too large"));
    else chunks.push(chunk);
  });
  response.on("end", () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
  response.on("error", reject);
  return promise;
}
