import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";

/** What the shop's front end says. */
export interface ShopPage {
  /** The node whose front end answers. */
  readonly node: string;
  readonly offers: readonly unknown[];
}

export interface ShopAnswer {
  readonly status: number;
  readonly page: ShopPage;
}

/** Over a connection of its own each time: a Service chooses a pod for each connection, and not for each request. */
export async function askShop(url: string): Promise<ShopAnswer> {
  const request = get(url, { agent: false, signal: AbortSignal.timeout(5_000) });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const body = await text(response);
  const status = response.statusCode ?? 0;
  if (status !== 200) throw new Error(`the front end answered ${status}: ${body.trim()}`);
  return { status, page: JSON.parse(body) as ShopPage };
}
