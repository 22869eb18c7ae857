import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isPlace } from "./place.ts";

describe("a place that another one tells", () => {
  for (const good of ["203.0.113.9:51820", "10.0.0.7:1", "[2001:db8::1]:65535", "[fd00::7]:40000"])
    it(`is believed: ${good}`, () => assert.equal(isPlace(good), true));

  const bad = {
    loopback: "127.0.0.1:51820",
    "loopback of IPv6": "[::1]:51820",
    nowhere: "0.0.0.0:51820",
    "link-local": "169.254.169.254:80",
    "link-local of IPv6": "[fe80::1]:51820",
    everybody: "255.255.255.255:51820",
    multicast: "224.0.0.1:51820",
    "an address behind hubs": "248.0.0.7:51820",
    "an address on links": "[fd66:6a70::7]:7447",
    "a name of a peer's pod": "240.1.0.7:51820",
    "a name of a peer's pod, of IPv6": "[fd66:6a6f::7]:51820",
    "loopback in the words of IPv6": "[::ffff:127.0.0.1]:51820",
    "an address of exports": "252.0.0.7:80",
    "a name": "wave.example:51820",
    "a range": "203.0.113.0/24:1",
    "port 0": "203.0.113.9:0",
    "port 70000": "203.0.113.9:70000",
    "no port": "203.0.113.9",
    "brackets around IPv4": "[203.0.113.9]:1",
    "IPv6 without brackets": "2001:db8::1:51820",
    "an option": "--x:1",
    nothing: "",
  };
  for (const [what, endpoint] of Object.entries(bad))
    it(`is not believed where it is ${what}`, () => assert.equal(isPlace(endpoint), false));
});
