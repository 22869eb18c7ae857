import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import {
  Contract,
  newObject,
  OFFLOADING_RULE_LABEL,
  Offloading,
  OffloadingRule,
  Peering,
  Site,
  TRIED_ANNOTATION,
} from "@fjord/api";
import { customResourceDefinitions } from "@fjord/api/manifests";
import { sleep, systemClock } from "@fjord/base";
import { writeToken } from "@fjord/continuum/identity";
import {
  CustomResourceDefinition,
  Deployment,
  KubeClient,
  Namespace,
  PersistentVolumeClaim,
  Secret,
} from "@fjord/kube";
import { findBinaries } from "@fjord/testbed";
import { kubernetesSkip, startTestSite, type TestSite, testedFjord } from "@fjord/testbed/testing";
import { parse } from "yaml";

const cli = testedFjord();

describe("fjord against a real API", { skip: kubernetesSkip(), timeout: 300_000 }, () => {
  let site: TestSite;
  let client: KubeClient;

  before(async () => {
    site = await startTestSite();
    client = new KubeClient(site.config, { closeGraceMs: 500 });
  });

  after(async () => {
    await client?.close();
    await site?.stop();
  });

  const fjord = (...args: readonly string[]) =>
    new Promise<{ code: number; out: string; err: string }>((resolve) => {
      const env = { ...process.env, KUBECONFIG: site.kubeconfig };
      execFile(process.execPath, [cli, ...args], { env }, (error, out, err) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), out, err });
      });
    });

  const kubectl = (...args: readonly string[]) =>
    new Promise<string>((resolve, reject) => {
      const program = findBinaries({ env: process.env }).binaries.path("kubectl");
      execFile(program, ["--kubeconfig", site.kubeconfig, ...args], (error, out) =>
        error ? reject(error) : resolve(out),
      );
    });

  it("says what to do where there is no Fjord", async () => {
    for (const args of [["sites"], ["status"], ["peer", "x", "--cpu=1"], ["offload", "default"], ["cordon", "x"]]) {
      const { code, out, err } = await fjord(...args);
      assert.deepEqual([code, out], [1, ""], args.join(" "));
      assert.match(err, /^error: https:\S+ does not know Fjord's kinds.*\nInstall Fjord there first: `fjord init`/);
    }
  });

  it("says what to do where no agent runs", async () => {
    await install(client);
    for (const command of ["status", "sites"]) {
      const { code, out, err } = await fjord(command);
      assert.deepEqual({ code, err }, { code: 0, err: "" });
      assert.match(out, /^there are no sites here yet: .*`fjord init`/);
    }
    const { code, err } = await fjord("pair", "token");
    assert.equal(code, 1);
    assert.match(err, /no agent has introduced itself at https:\S+ yet\nStart the agent of this site/);
  });

  it("lists in kubectl's formats", async () => {
    for (const name of ["harbour", "lively-wave"])
      await client.create(Site, newObject(Site, { metadata: { name }, spec: { tier: "edge" } }));
    assert.match((await fjord("sites")).out, /^NAME +ROLE +TIER .*\nharbour +<none> +edge .*\nlively-wave .*\n$/);
    assert.match((await fjord("sites", "-o", "wide")).out, /^NAME .* ID +VERSION +ENDPOINTS\n/);
    assert.equal((await fjord("sites", "-o", "name")).out, "site.fjord.dev/harbour\nsite.fjord.dev/lively-wave\n");
    const json = JSON.parse((await fjord("sites", "-o=json")).out) as { items: Site[] };
    assert.deepEqual(
      json.items.map(({ kind, metadata }) => [kind, metadata.name]),
      [
        ["Site", "harbour"],
        ["Site", "lively-wave"],
      ],
    );
    assert.equal((parse((await fjord("sites", "-o", "yaml")).out) as { kind: string }).kind, "List");
    const wrong = await fjord("sites", "-o", "toml");
    assert.deepEqual([wrong.code, /one of wide, json, yaml, name, jsonpath=TEMPLATE/.test(wrong.err)], [1, true]);
    const one = JSON.parse((await fjord("sites", "harbour", "-o", "json")).out) as Site;
    assert.deepEqual([one.kind, one.metadata.name], ["Site", "harbour"]);
    const none = await fjord("sites", "habour", "-o", "json");
    assert.deepEqual([none.code, none.out], [1, ""]);
    assert.match(none.err, /there is no site habour here \(did you mean harbour\?\)/);
  });

  it("shows the whole status in every format", async () => {
    assert.equal((await fjord("status", "-o", "name")).out, "site.fjord.dev/harbour\nsite.fjord.dev/lively-wave\n");
    assert.match((await fjord("status", "-o", "wide")).out, /^Sites\n {2}NAME .* ID +VERSION +ENDPOINTS\n/);
    const whole = JSON.parse((await fjord("status", "-o", "json")).out) as Record<string, unknown[]>;
    assert.deepEqual(
      Object.entries(whole).map(([name, list]) => [name, list.length]),
      [["sites", 2], ...["peerings", "contracts", "virtualNodes", "offloadings"].map((name) => [name, 0])],
    );
    assert.deepEqual(parse((await fjord("status", "-o", "yaml")).out), whole);
    assert.equal((await fjord("status", "-o", "jsonpath={.sites[*].metadata.name}")).out, "harbour lively-wave");
  });

  it("prints what kubectl prints for the same jsonpath", async () => {
    const templates = [
      "{.items[*].metadata.name}",
      "{.items[0].spec.tier} and {.items[-1:].metadata.name}",
      '{range .items[*]}{.metadata.name}{"\\t"}{.spec.mayConsume}{"\\n"}{end}',
      '{.items[?(@.metadata.name=="harbour")].spec}',
      "{.items[0:2].spec.tier}",
      "{.items[*]['apiVersion','kind']}",
      "{.items[*].nothing.here}",
      "{$.kind}",
    ];
    for (const template of templates) {
      const expected = await kubectl("get", "sites", "-o", `jsonpath=${template}`);
      assert.deepEqual(
        await fjord("sites", "-o", `jsonpath=${template}`),
        { code: 0, out: expected, err: "" },
        template,
      );
    }
    const wrong = await fjord("sites", "-o", "jsonpath={.items");
    assert.deepEqual([wrong.code, wrong.out], [1, ""]);
    assert.match(wrong.err, /^error: jsonpath={.items cannot be read: /);
  });

  it("goes on showing what changes, until it is interrupted", async () => {
    for (const command of ["sites", "status"]) {
      const name = `comes-${command}`;
      const child = spawn(process.execPath, [cli, command, "--watch", "-o", "name"], {
        env: { ...process.env, KUBECONFIG: site.kubeconfig },
        stdio: ["ignore", "pipe", "pipe"],
      });
      let out = "";
      const heard = (isSaid: () => boolean) =>
        new Promise<void>((resolve, reject) => {
          const look = () => isSaid() && resolve();
          child.stdout.on("data", look);
          child.once("exit", (code) => reject(new Error(`it ended with ${code}: ${out}`)));
          look();
        });
      child.stdout.on("data", (chunk: Buffer) => {
        out += chunk.toString("utf8");
      });
      await heard(() => out.includes("harbour"));
      await client.create(Site, newObject(Site, { metadata: { name }, spec: {} }));
      await heard(() => out.includes(name));
      await client.delete(Site, { name });
      // What is shown goes by name: the other twice since it was last seen, so once without it.
      await heard(() => out.slice(out.lastIndexOf(name)).split("harbour").length > 2);
      child.kill("SIGINT");
      const [code] = await once(child, "exit");
      assert.equal(code, 130);
    }
  });

  it("knows what was probably meant", async () => {
    const peer = await fjord("peer", "lively-wve", "--cpu=1");
    assert.equal(peer.code, 1);
    assert.match(peer.err, /this site knows no site lively-wve \(did you mean lively-wave\?\).*\n.*`fjord pair token`/);
    assert.match((await fjord("drain", "habour")).err, /called habour here \(did you mean harbour\?\)/);
    assert.match((await fjord("offload", "defalt")).err, /no namespace defalt here \(did you mean default\?\)/);
    assert.match((await fjord("pear")).err, /unknown command 'pear' \(Did you mean peer\?\)/);
    assert.match(
      (await fjord("peer", "lively-wave")).err,
      /--cpu, --memory cannot be left out: say how much is wanted/,
    );
    assert.match((await fjord("peer", "lively-wave", "--cpu=much")).err, /--cpu cannot be much: it must be an amount/);
  });

  it("repeats do no harm, and repeating a peering with other amounts resizes it", async () => {
    for (const cpu of ["2", "2", "3"])
      assert.equal((await fjord("peer", "lively-wave", `--cpu=${cpu}`, "--memory=1Gi", "--no-wait")).code, 0);
    assert.deepEqual((await client.get(Peering, { name: "lively-wave" })).spec.resources, { cpu: "3", memory: "1Gi" });
    const wanted = async () => (await client.get(Peering, { name: "lively-wave" })).spec.resources;
    const more = await fjord("peer", "lively-wave", "--cpu=4", "--pods=5", "--no-wait");
    assert.match(more.err, /^asking for cpu=4,memory=1Gi,pods=5\n/, "what is not named stays");
    assert.match(more.out, /^peering lively-wave is asked for: /, "nobody has agreed yet");
    assert.deepEqual(await wanted(), { cpu: "4", memory: "1Gi", pods: "5" });
    assert.equal((await fjord("peer", "lively-wave", "--pods=none", "--no-wait")).code, 0);
    assert.deepEqual(await wanted(), { cpu: "4", memory: "1Gi" });
    const linked = await fjord("peer", "lively-wave", "--link", "--no-wait");
    assert.equal(linked.code, 0, "a link alone");
    assert.match(linked.err, /^the link waits: lively-wave has not told its ranges yet, .* spec\.network/);
    const way = async (...more: string[]) => {
      const { code, err } = await fjord("peer", "lively-wave", "--no-wait", ...more);
      assert.equal(code, 0, err);
      const { spec } = await client.get(Peering, { name: "lively-wave" });
      return [spec.link, spec.via];
    };
    assert.deepEqual(await way("--link", "--via=harbour"), [true, "harbour"]);
    assert.deepEqual(await way("--via=none"), [true, undefined], "a hub is taken back, and the link stays");
    assert.deepEqual(await way("--no-link"), [false, undefined]);
    const nothing = await fjord("peer", "lively-wave", "--cpu=none", "--memory=none", "--no-wait");
    assert.match(nothing.err, /say how much is wanted/);
    const renamed = await fjord("peer", "lively-wave", "--cpu=9", "--node-name=other", "--no-wait");
    const misnamed = await fjord("peer", "lively-wave", "--name=Bad_Name", "--cpu=1");
    assert.match(misnamed.err, /--name cannot be "Bad_Name": a name has lowercase letters/);
    assert.match(renamed.err, /--node-name cannot be other: the node of peering lively-wave is lively-wave/);
    assert.deepEqual(await wanted(), { cpu: "4", memory: "1Gi" }, "a mistake changes nothing");
    assert.match(
      (await fjord("peer", "harbour", "--name=lively-wave", "--cpu=1")).err,
      /Give the new one another name/,
    );
    assert.equal((await fjord("unpeer", "lively-wave", "--no-wait")).out, "peering lively-wave is ending\n");
    assert.deepEqual(await fjord("unpeer", "lively-wave"), {
      code: 0,
      out: "there is no peering with lively-wave\n",
      err: "",
    });
    for (const more of [[], ["--forget"], ["--force"]]) {
      const misspelt = await fjord("unpeer", "lively-wav", ...more);
      assert.deepEqual([misspelt.code, misspelt.out], [1, ""]);
      assert.match(misspelt.err, /no peering or site lively-wav here \(did you mean lively-wave\?\)/);
      const alike = await fjord("unpeer", "lively-wav", "--ignore-not-found", ...more);
      const said = "there is no peering or site lively-wav (did you mean lively-wave?)\n";
      assert.deepEqual(alike, { code: 0, out: said, err: "" }, "a site that is called alike may be another");
      const unknown = await fjord("unpeer", "once-there-was", ...more);
      assert.deepEqual([unknown.code, unknown.out], [1, ""]);
      assert.match(unknown.err, /no peering or site once-there-was here/);
      const forgotten = await fjord("unpeer", "once-there-was", "--ignore-not-found", ...more);
      assert.deepEqual(forgotten, { code: 0, out: "there is no peering or site once-there-was\n", err: "" });
    }
  });

  it("says that a peering is not renewed where somebody has set it so, and changes that when it is asked to", async () => {
    const name = "ends-once";
    const peer = (...more: string[]) => fjord("peer", "lively-wave", `--name=${name}`, "--no-wait", ...more);
    const isRenewed = async () => (await client.get(Peering, { name })).spec.renew;
    assert.deepEqual([(await peer("--cpu=1", "--no-renew")).err, await isRenewed()], ["", false]);
    // As when its contract has run out.
    const ended = {
      type: "Agreed",
      status: "False",
      reason: "ContractEnded",
      message: "",
      lastTransitionTime: new Date(),
    };
    await client.patch(Peering, { name }, "merge", { status: { conditions: [ended] } }, { subresource: "status" });
    const again = await peer("--cpu=1", "-q");
    assert.equal(again.code, 0, again.err);
    assert.match(again.err, /peering ends-once stays as it was set, not to be renewed \(renew: false\)/);
    assert.match(again.err, /`fjord peer lively-wave --name=ends-once --renew` has it renewed/);
    const { spec } = await client.get(Peering, { name });
    assert.deepEqual([spec.renew, spec.askedAt !== undefined], [false, true], "it is asked for once more");
    assert.deepEqual([(await peer("--renew")).err, await isRenewed()], ["", true]);
    assert.deepEqual([(await peer("--cpu=2", "-q")).err, await isRenewed()], ["", true]);
    await client.delete(Peering, { name });
  });

  it("says why a token is not redeemed, and that nothing is left of the wish", async () => {
    await client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: "fjord-system" } });
    const endpoints = ["https://127.0.0.1:1"];
    const token = writeToken({ site: "a".repeat(26), endpoints, secret: "s".repeat(43), expires: Date.now() + 1e6 });
    const asked = fjord("pair", token, "--timeout=4s");
    for await (const { type, object } of client.watch(Secret, { namespace: "fjord-system" })) {
      if (type === "BOOKMARK" || !object.metadata.name?.startsWith("fjord-redeem-")) continue;
      const patch = { metadata: { annotations: { [TRIED_ANNOTATION]: "cannot connect: ECONNREFUSED" } } };
      await client.patch(Secret, { name: object.metadata.name, namespace: "fjord-system" }, "merge", patch);
      break;
    }
    const { code, err } = await asked;
    assert.equal(code, 1);
    assert.match(
      err,
      /no answer of a+ within 4 s; last: cannot connect: ECONNREFUSED.*\nNothing is asked for any more/,
    );
    const { items } = await client.list(Secret, { namespace: "fjord-system" });
    assert.deepEqual(
      items.filter(({ metadata }) => metadata.name?.startsWith("fjord-redeem-")),
      [],
    );
    const spent = await fjord("pair", "token", "--ttl=0s");
    assert.deepEqual([spent.code, spent.out], [1, ""]);
    assert.match(spent.err, /--ttl cannot be 0s: nobody could redeem such a token/);
  });

  it("takes the amounts of the peering that is there where a token is redeemed anew", async () => {
    const [name, id] = ["forgetful", "d".repeat(26)];
    await client.create(Site, newObject(Site, { metadata: { name }, spec: { id } }));
    const endpoints = ["https://127.0.0.1:1"];
    const token = writeToken({ site: id, endpoints, secret: "s".repeat(43), expires: Date.now() + 1e6 });
    const redeem = (...more: string[]) => fjord("peer", token, "--timeout=500ms", ...more);
    const refused = /^error: --cpu, --memory cannot be left out: say how much is wanted/;
    assert.match((await redeem()).err, refused, "there is no peering yet");
    const spec = { site: name, resources: { cpu: "1" } };
    await client.create(Peering, newObject(Peering, { metadata: { name }, spec }));
    assert.match((await redeem()).err, /there was no answer of d+ within 0.5 s/, "it was redeemed");
    assert.match((await redeem("--cpu=none")).err, refused);
    assert.match((await redeem("--name=another")).err, refused);
    await client.delete(Peering, { name });
    await client.delete(Site, { name });
  });

  it("offers no namespace to be offloaded that stays here", async () => {
    const { out } = await fjord("__complete", "offload", "");
    assert.match(out, /^default\b/m);
    assert.doesNotMatch(out, /kube-|fjord-system/);
  });

  it("takes the own site for no peer, and forgets it never", async () => {
    const own = newObject(Site, { metadata: { name: "harbour-itself" }, spec: {} });
    await client.create(Site, own);
    await client.patch(
      Site,
      { name: "harbour-itself" },
      "merge",
      { status: { role: "Self", id: "b".repeat(26) } },
      { subresource: "status" },
    );
    const endpoints = ["https://127.0.0.1:1"];
    const token = writeToken({ site: "b".repeat(26), endpoints, secret: "s".repeat(43), expires: Date.now() + 1e6 });
    const minted = (...more: string[]) => fjord("pair", "token", "--namespace=default", ...more);
    const nobodys = await minted();
    assert.deepEqual([nobodys.code, /^fjord1\./.test(nobodys.out)], [0, true], nobodys.err);
    assert.match(nobodys.err, /this site has no endpoints, so nobody can redeem this token/);
    assert.doesNotMatch((await minted("--endpoint=https://127.0.0.1:1")).err, /no endpoints/);
    for (const args of [
      ["pair", token],
      ["peer", token, "--cpu=1"],
    ]) {
      const { code, err } = await fjord(...args);
      assert.equal(code, 1);
      assert.match(err, /this site issued it itself.*\n.*was another --context meant/);
    }
    const { err: misspelt } = await fjord("peer", "harbour-itslf", "--cpu=1");
    assert.match(misspelt, /knows no site harbour-itslf/);
    assert.doesNotMatch(misspelt, /did you mean harbour-itself/);
    for (const args of [
      ["peer", "harbour-itself", "--cpu=1"],
      ["unpeer", "harbour-itself", "--forget"],
      ["unpeer", "harbour-itself", "--force"],
      ["unpeer", "harbour-itself"],
      ["drain", "harbour-itself"],
      ["drain", "harbour-itself", "--no-wait"],
      ["cordon", "harbour-itself"],
      ["uncordon", "harbour-itself"],
    ]) {
      const { code, err } = await fjord(...args);
      assert.deepEqual([code, /^error: harbour-itself is this site itself/.test(err)], [1, true], err);
    }
    for (const verb of ["peer", "unpeer", "drain", "cordon", "uncordon"])
      assert.doesNotMatch((await fjord("__complete", verb, "harbour-i")).out, /harbour-itself/, verb);
    assert.equal((await client.get(Site, { name: "harbour-itself" })).metadata.deletionTimestamp, undefined);
    assert.equal((await client.list(Peering)).items.filter(({ spec }) => spec.site === "harbour-itself").length, 0);
    const spec = { site: "far-off", resources: { cpu: "1" } };
    await client.create(Peering, newObject(Peering, { metadata: { name: "harbour-itself" }, spec }));
    const ended = await fjord("unpeer", "harbour-itself");
    assert.deepEqual([ended.code, ended.out], [0, "peering harbour-itself ended\n"], "a peering may be called so");
    assert.match((await fjord("unpeer", "harbour-itself")).err, /^error: harbour-itself is this site itself/);
    await client.delete(Site, { name: "harbour-itself" });
  });

  it("names workloads that still ask for a site when the last peering with it has ended", async () => {
    const [name, namespace, id] = ["low-bay", "bakery", "f".repeat(26)];
    await client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
    await client.create(Site, newObject(Site, { metadata: { name }, spec: { id } }));
    for (const peering of [name, "beside"])
      await client.create(
        Peering,
        newObject(Peering, { metadata: { name: peering }, spec: { site: name, resources: { cpu: "1" } } }),
      );
    const terms = [{ matchExpressions: [{ key: "fjord.dev/site", operator: "In", values: [id] }] }];
    const labels = { app: "oven" };
    await client.create(Deployment, {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "oven", namespace },
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            affinity: {
              nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } },
            },
            containers: [{ name: "main", image: "busybox:1" }],
          },
        },
      },
    } as Deployment);
    assert.equal((await fjord("unpeer", "beside")).err, "", "another peering with the site is left");
    assert.equal(
      (await fjord("unpeer", name)).err,
      "deployment/oven still asks for low-bay only, and its pods wait for it: `fjord move deployment/oven anywhere -n bakery` lets them run here\n",
    );
    await client.delete(Deployment, { name: "oven", namespace });
    await client.delete(Site, { name });
  });

  it("deletes volumes elsewhere only where it is told to", async () => {
    const id = "e".repeat(26);
    const [name, namespace] = ["deep-fjord", "orders"];
    await client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
    await client.create(Site, newObject(Site, { metadata: { name }, spec: { id } }));
    const wish = async () => {
      const spec = { site: name, resources: { cpu: "1" } };
      await client.create(Peering, newObject(Peering, { metadata: { name }, spec }));
      await client.create(Peering, newObject(Peering, { metadata: { name: "second" }, spec }));
      await client.create(Offloading, newObject(Offloading, { metadata: { name: "offloading", namespace }, spec: {} }));
    };
    await wish();
    const claim = { name: "orders", namespace };
    await client.create(PersistentVolumeClaim, {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: claim,
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    });
    const conditions = [{ type: `fjord.dev/${id}`, status: "True" }];
    await client.patch(PersistentVolumeClaim, claim, "merge", { status: { conditions } }, { subresource: "status" });
    assert.equal((await fjord("unpeer", "second")).code, 0, "another peering with that site is left");
    for (const command of [
      ["unpeer", name, "--forget"],
      ["unoffload", namespace],
    ]) {
      const { code, out, err } = await fjord(...command);
      assert.deepEqual([code, out], [1, ""], command.join(" "));
      assert.match(err, /volumes at deep-fjord would be deleted .*: those of the claims orders\/orders\n.*kubectl cp/);
    }
    await client.get(Peering, { name });
    const unrenewed = await fjord("peer", name, "--no-renew", "--no-wait", "-q");
    assert.deepEqual([unrenewed.code, /those of the claims orders\/orders\. Copy/.test(unrenewed.err)], [0, true]);
    assert.equal((await fjord("unoffload", namespace, "--discard-data")).code, 0);
    assert.equal((await fjord("unpeer", name)).code, 0, "what its claims say is of before");
    await wish();
    const held = { metadata: { finalizers: ["example.com/held"] } };
    const free = { metadata: { finalizers: null } };
    for (const peering of [name, "second"]) await client.patch(Peering, { name: peering }, "merge", held);
    await client.patch(Offloading, { name: "offloading", namespace }, "merge", held);
    assert.equal((await fjord("unpeer", "second", "--no-wait")).code, 0);
    assert.equal((await fjord("unpeer", name, "--no-wait")).code, 1, "the other peering is ending");
    for (const command of [
      ["unpeer", name, "--no-wait"],
      ["unoffload", namespace, "--no-wait"],
    ]) {
      assert.equal((await fjord(...command, "--discard-data")).code, 0, command.join(" "));
      assert.equal((await fjord(...command)).code, 0, `${command.join(" ")}, which is going on`);
    }
    for (const peering of [name, "second"]) await client.patch(Peering, { name: peering }, "merge", free);
    await client.patch(Offloading, { name: "offloading", namespace }, "merge", free);
    await wish();
    assert.equal((await fjord("unpeer", name, "--forget")).code, 1);
    const ended = await fjord("unpeer", name, "--forget", "--discard-data");
    assert.deepEqual([ended.code, /site deep-fjord forgotten\n$/.test(ended.out)], [0, true], ended.err);
    await client.delete(Offloading, { name: "offloading", namespace });
  });

  it("tells a provider how to end what a consumer has here", async () => {
    const [consumer, provider] = ["c", "d"].map((letter) => letter.repeat(26)) as [string, string];
    await client.create(Site, newObject(Site, { metadata: { name: "far-shore" }, spec: { id: consumer } }));
    const terms = {
      ...{ id: "c-guest", consumer, provider, resources: { cpu: "1" }, enforcement: "None" as const },
      ...{ notBefore: "2030-01-01T00:00:00Z", notAfter: "2040-01-01T00:00:00Z" },
    };
    await client.create(Contract, newObject(Contract, { metadata: { name: "c-guest" }, spec: { terms } }));
    const { code, out, err } = await fjord("unpeer", "far-shore");
    assert.deepEqual([code, out], [1, ""]);
    assert.match(
      err,
      /no peering with far-shore to end here: it uses this site, by c-guest.*\n.*`fjord unpeer --forget`/,
    );
    await client.delete(Contract, { name: "c-guest" });
    assert.equal((await fjord("unpeer", "far-shore")).out, "there is no peering with far-shore\n");
    const kubectl = await fjord("kubectl", "far-shore", "--", "get", "pods");
    assert.match(
      kubectl.err,
      /no way to the API of far-shore from here: it has no endpoint.*\nkubectl on the pods here/,
    );
    await client.delete(Site, { name: "far-shore" });
  });

  it("tells of amounts that a peering in force was refused", async () => {
    await fjord("peer", "lively-wave", "--cpu=1", "--no-wait");
    const peering = await client.get(Peering, { name: "lively-wave" });
    const observedGeneration = (peering.metadata.generation ?? 0) + 1;
    const now = new Date().toISOString();
    const common = { status: "True", observedGeneration, lastTransitionTime: now };
    const message = "c-1 is in force; other amounts: cpu 1000 is more than there is; available: cpu 750m";
    const conditions = [
      { ...common, type: "Agreed", reason: "ContractActive", message },
      { ...common, type: "Ready", reason: "InService", message: "" },
    ];
    const status = { status: { conditions } };
    await client.patch(Peering, { name: "lively-wave" }, "merge", status, { subresource: "status" });
    const { code, err } = await fjord("peer", "lively-wave", "--cpu=1000");
    assert.equal(code, 1);
    assert.match(
      err,
      /error: peering lively-wave keeps the amounts that it has: .*cpu 1000 is more than there is; available: cpu 750m.*\nThe contract in force stays as it is/,
    );
    assert.match(
      (await fjord("status")).out,
      /lively-wave .*InService +other amounts: cpu 1000 is more than there is; available: cpu 750m\n/,
    );
    await fjord("unpeer", "lively-wave", "--no-wait");
  });

  it("ends all peerings with a site at once, not one after the other", async () => {
    const names = ["lively-wave", "lively-wave-2"];
    for (const name of names) {
      await fjord("peer", "lively-wave", `--name=${name}`, "--cpu=1", "--no-wait");
      await client.patch(Peering, { name }, "merge", { metadata: { finalizers: ["example.com/later"] } });
    }
    for (const forgetting of ["--forget", "--force"]) {
      const { code, out, err } = await fjord("unpeer", "lively-wave-2", forgetting);
      assert.deepEqual([code, out], [1, ""]);
      assert.match(
        err,
        /site lively-wave cannot be forgotten with peering lively-wave-2 alone: peering lively-wave would/,
      );
    }
    assert.equal(
      (await client.list(Peering)).items.some(({ metadata }) => metadata.deletionTimestamp),
      false,
    );
    const ending = fjord("unpeer", "lively-wave");
    const peerings = () => Promise.all(names.map((name) => client.get(Peering, { name })));
    while ((await peerings()).some(({ metadata }) => metadata.deletionTimestamp === undefined))
      await sleep(systemClock, 50);
    for (const name of names.toReversed())
      await client.patch(Peering, { name }, "merge", { metadata: { finalizers: null } });
    const { code, out } = await ending;
    assert.deepEqual(
      [code, out.split("\n").sort().join("\n").trim()],
      [0, names.map((name) => `peering ${name} ended`).join("\n")],
    );
  });

  it("forgets a site also where the end of its peering is not waited for until it comes", async () => {
    const name = "fog-bank";
    const held = { finalizers: ["example.com/later"] };
    for (const more of [["--forget"], ["--force"]]) {
      await client.create(Site, newObject(Site, { metadata: { name, ...held }, spec: {} }));
      const spec = { site: name, resources: { cpu: "1" } };
      await client.create(Peering, newObject(Peering, { metadata: { name, ...held }, spec }));
      const { code, err } = await fjord("unpeer", name, ...more, "--timeout=500ms");
      assert.equal(code, 1);
      assert.match(err, /Peering fog-bank was not gone within 0.5 s.*\nThe wish stands/);
      for (const kind of [Peering, Site]) {
        const { metadata } = await client.get<Peering | Site>(kind as typeof Peering, { name });
        assert.notEqual(metadata.deletionTimestamp, undefined, `${kind.kind} is to go`);
        await client.patch<Peering | Site>(kind as typeof Peering, { name }, "merge", {
          metadata: { finalizers: null },
        });
      }
    }
  });

  it("takes the namespace as a word or by -n", async () => {
    for (const args of [["default"], ["-n", "default"], ["default", "--namespace=default"]]) {
      assert.equal((await fjord("offload", ...args, "--no-wait")).out, "namespace default offloaded\n");
      assert.equal((await client.get(Offloading, { name: "offloading", namespace: "default" })).spec.pods, "Both");
      assert.equal((await fjord("unoffload", ...args)).out, "namespace default is home\n");
    }
    assert.equal((await fjord("unoffload", "default")).out, "namespace default was not offloaded\n");
    const misspelt = await fjord("unoffload", "defualt");
    assert.deepEqual([misspelt.code, misspelt.out], [1, ""]);
    assert.match(misspelt.err, /there is no namespace defualt here \(did you mean default\?\)/);
    assert.match((await fjord("offload")).err, /say which one is meant/);
    assert.match((await fjord("offload", "a", "-n=b")).err, /--namespace cannot be b: a is named too/);
  });

  it("changes of an offloading what is named, and refuses in words what makes no sense", async () => {
    const spec = async () => (await client.get(Offloading, { name: "offloading", namespace: "default" })).spec;
    const first = ["--pods=Remote", "--naming=Chosen", "--twin-name=guests", "--selector=tier=edge"];
    await fjord("offload", "default", "--no-wait", ...first, "--when-unreachable=Evict=30s");
    const { code, err } = await fjord("offload", "default", "--no-wait", "--pods=Both");
    assert.equal(code, 0, err);
    assert.deepEqual(await spec(), {
      pods: "Both",
      naming: { strategy: "Chosen", name: "guests" },
      sites: { matchLabels: { tier: "edge" } },
      whenUnreachable: { action: "Evict", after: "30s" },
    });
    await fjord("offload", "default", "--no-wait", "--selector=zone=a", "--when-unreachable=Keep");
    assert.deepEqual((await spec()).sites, { matchLabels: { zone: "a" } });
    assert.deepEqual((await spec()).whenUnreachable, { action: "Keep" });
    await fjord("offload", "default", "--no-wait", "--selector=none");
    assert.deepEqual((await spec()).sites.matchLabels ?? {}, {});
    for (const wrong of ["--naming=Same", "--twin-name=others", "--twin-name=Foo_Bar", "--when-unreachable=Evict=30"]) {
      const refused = await fjord("offload", "default", "--no-wait", wrong);
      assert.equal(refused.code, 1, wrong);
      assert.match(
        refused.err,
        new RegExp(`^error: ${wrong.replace("=", " cannot be ")}: .*\\[CLI_INVALID_VALUE\\]`, "s"),
      );
    }
    assert.deepEqual((await spec()).naming, { strategy: "Chosen", name: "guests" });
    await fjord("unoffload", "default");
  });

  it("asks for a namespace again once what is left of before is removed, and for nothing where it is not", async () => {
    const key = { name: "offloading", namespace: "default" };
    await fjord("offload", "default", "--no-wait");
    const { metadata } = await client.patch(Offloading, key, "merge", {
      metadata: { finalizers: ["example.com/later"] },
    });
    await fjord("unoffload", "default", "--no-wait");
    for (const more of [[], ["--no-wait"]]) {
      const { code, out, err } = await fjord("offload", "default", "--timeout=500ms", ...more);
      assert.deepEqual([code, out], [1, ""], err);
      assert.match(
        err,
        /the offloading of namespace default of before was still being removed.*\nNothing was asked for/,
      );
    }
    const child = spawn(process.execPath, [cli, "offload", "default", "--timeout=120s"], {
      env: { ...process.env, KUBECONFIG: site.kubeconfig },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let said = "";
    child.stderr.on("data", (chunk: Buffer) => {
      said += chunk.toString("utf8");
    });
    while (!said.includes("waiting until the offloading of namespace default of before is removed")) {
      assert.equal(child.exitCode, null, said);
      await sleep(systemClock, 50);
    }
    await client.patch(Offloading, key, "merge", { metadata: { finalizers: null } });
    while (!said.includes("waiting for the agent")) {
      assert.equal(child.exitCode, null, said);
      await sleep(systemClock, 50);
    }
    const anew = await client.get(Offloading, key);
    assert.notEqual(anew.metadata.uid, metadata.uid);
    assert.equal(anew.metadata.deletionTimestamp, undefined);
    // Nobody is there to make twins: whoever takes the wish back ends the waiting.
    const ended = once(child, "close");
    await client.delete(Offloading, key);
    assert.deepEqual(
      [(await ended)[0], said.includes("was removed while this command waited for it")],
      [1, true],
      said,
    );
  });

  it("asks for a peering again once the one that is ending is gone", async () => {
    const key = { name: "lively-wave" };
    await fjord("peer", "lively-wave", "--cpu=1", "--memory=1Gi", "--no-wait");
    const { metadata } = await client.patch(Peering, key, "merge", { metadata: { finalizers: ["example.com/later"] } });
    await fjord("unpeer", "lively-wave", "--no-wait");
    for (const more of [[], ["--no-wait"]]) {
      const { code, out, err } = await fjord("peer", "lively-wave", "--cpu=2", "--timeout=500ms", ...more);
      assert.deepEqual([code, out], [1, ""], err);
      assert.match(err, /peering lively-wave of before was still being removed.*\nNothing was asked for/);
    }
    assert.deepEqual((await client.get(Peering, key)).spec.resources, { cpu: "1", memory: "1Gi" });
    const child = spawn(process.execPath, [cli, "peer", "lively-wave", "--cpu=2", "--timeout=120s"], {
      env: { ...process.env, KUBECONFIG: site.kubeconfig },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let said = "";
    child.stderr.on("data", (chunk: Buffer) => {
      said += chunk.toString("utf8");
    });
    for (const line of ["waiting until peering lively-wave of before is removed", "waiting for the agent"]) {
      while (!said.includes(line)) {
        assert.equal(child.exitCode, null, said);
        await sleep(systemClock, 50);
      }
      if (line !== "waiting for the agent")
        await client.patch(Peering, key, "merge", { metadata: { finalizers: null } });
    }
    const anew = await client.get(Peering, key);
    assert.notEqual(anew.metadata.uid, metadata.uid);
    assert.deepEqual(anew.spec.resources, { cpu: "2" }, "as if for the first time");
    const ended = once(child, "close");
    await client.delete(Peering, key);
    assert.deepEqual(
      [(await ended)[0], said.includes("was removed while this command waited for it")],
      [1, true],
      said,
    );
  });

  it("brings no namespace home that a rule would offload again, and says which", async () => {
    const key = { name: "offloading", namespace: "default" };
    await fjord("offload", "default", "--no-wait");
    const rule = newObject(OffloadingRule, {
      metadata: { name: "all-of-them" },
      spec: { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "default" } } },
    });
    await client.create(OffloadingRule, rule);
    const own = await fjord("offload", "default", "--pods=Local", "--no-wait");
    assert.deepEqual([own.code, (await client.get(Offloading, key)).spec.pods], [0, "Local"], own.err);
    const labels = (value: string | null) => ({ metadata: { labels: { [OFFLOADING_RULE_LABEL]: value } } });
    await client.patch(Offloading, key, "merge", labels("all-of-them"));
    const ruled = await fjord("offload", "default", "--pods=Remote");
    assert.deepEqual([ruled.code, ruled.out, (await client.get(Offloading, key)).spec.pods], [1, "", "Local"]);
    assert.match(ruled.err, /^error: namespace default is offloaded as the OffloadingRule all-of-them says/);
    await client.patch(Offloading, key, "merge", labels(null));
    const { code, out, err } = await fjord("unoffload", "default");
    assert.deepEqual([code, out], [1, ""]);
    assert.match(
      err,
      /^error: namespace default matches the OffloadingRule all-of-them, which would offload it again at once.*\nNothing was changed/,
    );
    assert.equal((await client.get(Offloading, key)).metadata.deletionTimestamp, undefined);
    await client.delete(OffloadingRule, { name: "all-of-them" });
    assert.equal((await fjord("unoffload", "default")).out, "namespace default is home\n");
  });

  it("is done where every site that answers has its twin, and says what to do about a name that is taken", async () => {
    const ids = { harbour: "a".repeat(26), "lively-wave": "b".repeat(26) };
    const condition = (type: string, status: string, reason: string) => ({
      ...{ type, status, reason, message: "so it is" },
      lastTransitionTime: new Date().toISOString(),
    });
    for (const [name, id] of Object.entries(ids)) {
      const conditions = [condition("Reachable", name === "harbour" ? "False" : "True", "Told")];
      await client.patch(Site, { name }, "merge", { status: { id, conditions } }, { subresource: "status" });
    }
    const key = { name: "offloading", namespace: "default" };
    await fjord("offload", "default", "--no-wait");
    const { metadata } = await client.get(Offloading, key);
    const tell = async (twin: string, reason: string) => {
      const ready = { ...condition("Ready", "False", "SomeTwinsNotReady"), observedGeneration: metadata.generation };
      const sites = [
        { site: ids.harbour, conditions: [condition("Ready", "False", "SiteUnreachable")] },
        { site: ids["lively-wave"], conditions: [condition("Ready", twin, reason)] },
      ];
      await client.patch(
        Offloading,
        key,
        "merge",
        { status: { sites, conditions: [ready] } },
        { subresource: "status" },
      );
    };
    await tell("True", "TwinReady");
    assert.deepEqual(await fjord("offload", "default", "--timeout=120s"), {
      code: 0,
      out: "namespace default offloaded\n",
      err: "harbour does not answer: its twin follows when it answers again\n",
    });
    await tell("False", "NameTaken");
    assert.match((await fjord("status")).out, /default .* SomeTwinsNotReady +.*lively-wave: NameTaken: so it is/);
    const taken = await fjord("offload", "default", "--timeout=120s");
    assert.equal(taken.code, 1);
    assert.match(taken.err, /lively-wave: NameTaken: so it is.*\n.*`fjord unoffload` the namespace first/s);
    await fjord("unoffload", "default");
  });

  it("says at once that an offloading extends to no site where none can be meant", async () => {
    const lastTransitionTime = new Date().toISOString();
    const [name, namespace] = ["low-tide", "default"];
    const spec = { site: name, resources: { cpu: "1" } };
    await client.create(Peering, newObject(Peering, { metadata: { name }, spec }));
    const realised = { type: "Realised", status: "True", reason: "NodeMade", message: "", lastTransitionTime };
    await client.patch(Peering, { name }, "merge", { status: { conditions: [realised] } }, { subresource: "status" });
    await fjord("offload", namespace, "--selector=tier=clod", "--no-wait");
    const key = { name: "offloading", namespace };
    const { generation: observedGeneration } = (await client.get(Offloading, key)).metadata;
    const message = "no node has tier=clod";
    const none = { ...realised, type: "Ready", status: "False", reason: "NoSiteEligible", message, observedGeneration };
    await client.patch(Offloading, key, "merge", { status: { conditions: [none] } }, { subresource: "status" });
    assert.deepEqual(await fjord("offload", namespace, "--timeout=120s"), {
      code: 0,
      out: "namespace default offloaded\n",
      err: "it extends to no site yet: no node has tier=clod\n",
    });
    await client.delete(Peering, { name });
    await fjord("unoffload", namespace);
  });

  it("leaves the system's namespaces alone", async () => {
    const { code, err } = await fjord("offload", "kube-system", "--no-wait");
    assert.equal(code, 1);
    assert.match(err, /namespace kube-system stays here.*\n.*a namespace of its own/);
    assert.deepEqual((await client.list(Offloading, { namespace: "kube-system" })).items, []);
  });

  it("gives up waiting in time, and says that the wish stands", async () => {
    await client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: "alone" } });
    const { code, err } = await fjord("offload", "alone", "--timeout=500ms");
    assert.equal(code, 1);
    assert.match(
      err,
      /^waiting for the agent\nerror: the offloading of namespace alone was not confirmed within 0.5 s; .*\nThe wish stands/,
    );
  });
});

async function install(client: KubeClient): Promise<void> {
  for (const definition of customResourceDefinitions()) {
    await client.create(CustomResourceDefinition, definition as CustomResourceDefinition);
  }
  for (;;) {
    const { items } = await client.list(CustomResourceDefinition);
    const isServed = ({ status }: CustomResourceDefinition) =>
      status?.conditions?.some(({ type, status: is }) => type === "Established" && is === "True");
    if (items.every(isServed)) return;
    await sleep(systemClock, 50);
  }
}
