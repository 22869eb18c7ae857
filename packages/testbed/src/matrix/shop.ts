import { FRONT_PORT } from "../demo/application.ts";
import { askShop, type ShopPage } from "../demo/shop-answer.ts";
import { AWAY, HOME, type MatrixBed } from "./matrix-bed.ts";

/** The ways to ask the shop, by who asks: a pod at home, and others by a port of the home's node. */
export function shopPages(bed: MatrixBed): Record<string, () => Promise<ShopPage>> {
  const url = `http://${hostOf(bed.nodeAddress(HOME))}:${FRONT_PORT}/`;
  return {
    "a pod": async () => JSON.parse(await bed.fetch("web", "http://front:8080/")) as ShopPage,
    "the node's neighbour": async () => (await askShop(url)).page,
    somebody: async () => JSON.parse(await bed.visit(url)) as ShopPage,
  };
}

/** Throws unless the front end at the other site has answered with the worker's prices, which the API at home has. */
export function judge(page: ShopPage): true {
  if (page.offers.length === 0) throw new Error("the shop has no offers");
  if (!page.node.startsWith(AWAY)) throw new Error(`the front end at ${page.node} has answered`);
  return true;
}

const hostOf = (address: string) => (address.includes(":") ? `[${address}]` : address);
