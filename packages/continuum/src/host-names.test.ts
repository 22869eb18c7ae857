import assert from "node:assert/strict";
import type { LookupAddress } from "node:dns";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { describe, it } from "node:test";
import { HostNames } from "./host-names.ts";

const HERE: LookupAddress[] = [{ address: "127.0.0.1", family: 4 }];

describe("names of peers' hosts", () => {
  it("are asked for once at a time, however often they are dialled, and again afterwards", async () => {
    const asked: string[] = [];
    const answers: ((found: LookupAddress[]) => void)[] = [];
    const names = new HostNames((host) => {
      asked.push(host);
      return new Promise((resolve) => answers.push(resolve));
    });
    const found = Array.from({ length: 20 }, () => names.addresses("silent.example"));
    assert.deepEqual(asked, ["silent.example"]);
    const other = names.addresses("other.example");
    answers[1]?.(HERE);
    assert.deepEqual(await other, HERE);
    answers[0]?.(HERE);
    for (const each of found) assert.deepEqual(await each, HERE);
    void names.addresses("silent.example");
    assert.equal(asked.length, 3);
  });

  it("lead where they led before, while nobody answers for them", async () => {
    let isSilent = false;
    const names = new HostNames(() => (isSilent ? new Promise(() => {}) : Promise.resolve(HERE)));
    await names.addresses("wave.example");
    isSilent = true;
    assert.deepEqual(await names.addresses("wave.example"), HERE);
  });

  it("wait for their addresses up to some number, and then lead where they led before, or nowhere", async () => {
    let isSilent = false;
    let asked = 0;
    const names = new HostNames(() => {
      asked++;
      return isSilent ? new Promise(() => {}) : Promise.resolve(HERE);
    });
    await names.addresses("wave.example");
    isSilent = true;
    for (let i = 0; i < 1_000; i++) names.addresses(`made-up-${i}.example`).catch(() => {});
    assert.equal(asked, 1 + 256);
    assert.deepEqual(await names.addresses("wave.example"), HERE);
    await assert.rejects(names.addresses("another.example"), /too many names/);
  });

  it("are not found where nobody has them, and may be found the next time", async () => {
    let isThere = false;
    const names = new HostNames(async () => {
      if (isThere) return HERE;
      throw new Error("ENOTFOUND");
    });
    await assert.rejects(names.addresses("wave.example"), /ENOTFOUND/);
    isThere = true;
    assert.deepEqual(await names.addresses("wave.example"), HERE);
  });

  it("are what connections are made by, of one address or of several", async () => {
    const server = createServer((socket) => socket.end("hello"));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const names = new HostNames(async (host) => {
      if (host === "wave.example") return HERE;
      throw new Error("ENOTFOUND");
    });
    for (const autoSelectFamily of [true, false]) {
      const socket = connect({ host: "wave.example", port, lookup: names.lookup, autoSelectFamily });
      assert.equal(String((await once(socket, "data"))[0]), "hello");
      socket.destroy();
    }
    const lost = connect({ host: "nobody.example", port, lookup: names.lookup });
    await assert.rejects(once(lost, "connect"), /ENOTFOUND/);
    server.close();
  });
});
