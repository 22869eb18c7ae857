import assert from "node:assert/strict";
import { test } from "node:test";
import { ControlServer } from "./control-server.ts";

async function ask(url: string, body: string, type = "application/json"): Promise<[number, string]> {
  const answer = await fetch(url, { method: "POST", body, headers: { "content-type": type } });
  return [answer.status, await answer.text()];
}

test("a wish to cut a site off is heard, and what is none is refused", async () => {
  await using server = await ControlServer.open();
  const wishes: string[] = [];
  assert.deepEqual(await ask(server.url, '{"site":"a","cut":true}'), [409, "the sites are not there yet\n"]);
  server.reach = async (site, cut) => {
    if (site === "c") throw new Error("its cable is stuck");
    return site === "a" ? void wishes.push(`${site} ${cut}`) : `there is no site ${site}`;
  };
  assert.deepEqual(await ask(server.url, '{"site":"a","cut":true}'), [200, "a is cut off\n"]);
  assert.deepEqual(await ask(server.url, '{"site":"a","cut":false}'), [200, "a is connected again\n"]);
  assert.deepEqual(await ask(server.url, '{"site":"b","cut":true}'), [409, "there is no site b\n"]);
  assert.deepEqual(await ask(server.url, '{"site":"c","cut":true}'), [409, "its cable is stuck\n"]);
  assert.deepEqual(wishes, ["a true", "a false"]);
  assert.equal((await ask(server.url, '{"site":"a","cut":true}', "text/plain"))[0], 405);
  assert.equal((await ask(server.url, '{"site":"a"}'))[0], 400);
  assert.equal((await ask(server.url, "nonsense"))[0], 400);
  assert.equal((await ask(server.url, `"${"x".repeat(5_000)}"`))[0], 413);
  assert.equal((await fetch(server.url)).status, 405);
  assert.equal(wishes.length, 2);
});

test("two demos beside each other have different addresses", async () => {
  await using one = await ControlServer.open();
  await using other = await ControlServer.open();
  assert.notEqual(one.berth, other.berth);
  assert.notEqual(one.url, other.url);
});
