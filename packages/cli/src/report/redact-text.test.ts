import assert from "node:assert/strict";
import { test } from "node:test";
import { redactText } from "./redact-text.ts";

const X = "hunter-two";

/** Texts with a secret, and what must be left of them where that matters. */
const WITH_SECRET: readonly (readonly [text: string, left?: string])[] = [
  [`connecting with token=${X} to wave`, "connecting with token=[removed] to wave"],
  [`AWS_SECRET_ACCESS_KEY=${X}`, "AWS_SECRET_ACCESS_KEY=[removed]"],
  [`export AWS_SECRET_ACCESS_KEY=${X}; run`],
  [`secret_key=${X}`],
  [`DB_PASS=${X} DB_HOST=db`, "DB_PASS=[removed] DB_HOST=db"],
  [`dbpass: no, DB_PASS: ${X}`],
  [`env: DB_PASS=${X}`],
  [`MYSQL_PWD=${X}`],
  [`client-key-data: ${X}`],
  [`STRIPE_KEY=${X}`],
  [`encryptionKey: ${X}`],
  [`apiKey=${X}`],
  [`api-key: ${X}`],
  [`x.io/token: ${X}`],
  [`"x.io/api-key":"${X}"`],
  [`login --password ${X} --verbose`, "login --password [removed] --verbose"],
  [`login --password=${X}`],
  [`login --token ${X}`],
  [`login -token ${X}`],
  [`args: ["--password","${X}","-v"]`],
  [`args: [\\"--db-password\\", \\"${X}\\"]`],
  [`[--password ${X}]`],
  [`redis://:${X}@h:6379/0`, "redis://[removed]@h:6379/0"],
  [`dialling https://anna:${X}@wave.example/`, "dialling https://[removed]@wave.example/"],
  [`postgres://anna:${X}/with@slash@db:5432/shop`, "postgres://[removed]@db:5432/shop"],
  [`git clone https://${X}@git.example/shop.git`],
  [`anna:${X}@tcp(db:3306)/shop`],
  [`curl -u anna:${X} https://h`, "curl -u [removed] https://h"],
  [`curl --user "anna:${X}" https://h`],
  [`<user>anna</user><password>${X}</password>`, "<user>anna</user><password>[removed]</password>"],
  [`<db:Password enc="no">\n  ${X}\n</db:Password>`],
  [`<secret><![CDATA[${X}]]></secret>`, "<secret>[removed]</secret>"],
  [`sshpass -p${X} ssh anna@h`, "sshpass -p[removed] ssh anna@h"],
  [`sshpass -p ${X} ssh anna@h`, "sshpass -p [removed] ssh anna@h"],
  [`sshpass -v -p '${X}' ssh anna@h`],
  [`args: ["sshpass","-p${X}","ssh"]`],
  [`args: ["sshpass","-p","${X}","ssh"]`],
  [`mysql -u root -p${X} shop`, "mysql -u root -p[removed] shop"],
  [`Server=db;User Id=anna;Pwd=${X};`],
  [`host=db user=anna password=${X}`],
  [`Cookie: session=${X}; theme=${X}`],
  [`Set-Cookie: id="a b ${X}"; Path=/`],
  [`curl -H 'Cookie: a=${X}; b=${X}' https://h`, "curl -H 'Cookie: [removed]' https://h"],
  [`curl -H "X-Api-Key: ${X}" https://h`],
  [`{"Cookie":"a=${X}; b=${X}","Accept":"*"}`, '{"Cookie":[removed],"Accept":"*"}'],
  [`map[Authorization:[Bearer ${X}] Cookie:[a=${X} b]]`],
  [`Authorization: Bearer ${X}-and-more`],
  [`Authorization: Custom ${X} and ${X}`],
  [`Proxy-Authorization: Basic ${X}`],
  [`sent Bearer ${X}1`],
  [`password="a ${X}"`],
  [`password='a ${X} b' user='anna'`, "password=[removed] user='anna'"],
  [`password="a \\" ${X}"`],
  [`{"password":"${X}","user":"anna"}`, '{"password":[removed],"user":"anna"}'],
  [`body {\\"password\\":\\"${X}\\",\\"user\\":\\"anna\\"}`, 'body {\\"password\\":[removed],\\"user\\":\\"anna\\"}'],
  [`body {\\"password\\": \\"a ${X}\\"}`],
  [`{\\\\\\"password\\\\\\":\\\\\\"a ${X}\\\\\\"}`],
  [`{'password': '${X}'}`],
  [`{"passwords":["${X}","b ${X}"]}`],
  [`{"credentials":{"user":"anna","with":"${X}"}}`],
  [`{password: ${X}}`],
  [`password => ${X}`],
  [`password := "${X}"`],
  ["password `p-4711x` refused"],
  [`{"name":"DB_PASS","value":"a ${X}"}`],
  [`{\\"name\\":\\"DB_PASS\\",\\"value\\":\\"${X}\\"}`],
  [`{Name:DB_PASS,Value:${X},}`],
  [`{"kind":"Secret","data":{"any":"${X}"}}`, '{"kind":"Secret","data":[removed]}'],
  [`{\\"stringData\\":{\\"any\\":\\"${X}\\"}}`],
  [`Get "http://10.0.0.7:8080/health?key=${X}": dial tcp`, 'Get "http://10.0.0.7:8080/health?key=[removed]": dial tcp'],
  [`GET /a?watch=true&sig=${X}&limit=5`, "GET /a?watch=true&sig=[removed]&limit=5"],
  [`password hunter2${X}`],
  [`password: |\n  ${X}\n  ${X}\nuser: anna`, "password: [removed]\n[removed]\n[removed]\nuser: anna"],
  [`db:\n  password: >-\n    ${X}\n\n    ${X}\n  user: anna`],
  [`password:\n  ${X}\nuser: anna`, "password:\n[removed]\nuser: anna"],
  [`- password:\n    ${X}\n  user: anna`, "- password:\n[removed]\n  user: anna"],
  [`passwords:\n- ${X}\n- b ${X}\nusers:\n- anna`, "passwords:\n[removed]\n[removed]\nusers:\n- anna"],
  [`{\n  "passwords": [\n    "${X}",\n    "${X}"\n  ],\n  "user": "anna"\n}`],
  [`{\n  "credentials": {\n    "with": "${X}"\n  },\n  "user": "anna"\n}`],
  [`token: !!binary |\r\n  ${X}\r\nuser: anna`],
  [`read password: |\n\t${X}\nall is well`],
  [`password: "a ${X} that was cut off`],
  [`the password is: ${X}`, "the password is: [removed]"],
  [`the password was = 'a ${X}'`],
  [`password 'two ${X}'`, "password [removed]"],
  [`password -> ${X}`, "password -> [removed]"],
  [`password → ${X}`],
  [`secret hunter2two`, "secret [removed]"],
  [`\u001b[31mpassword\u001b[0m=${X}`, "password=[removed]"],
  [`pass\u001b[1mword\u001b[m: \u001b]8;;x\u0007${X}`],
  [`{"key":"password","val":"${X}"}`],
  [`{"value":"${X}","name":"DB_PASS"}`],
  [`https://hooks.slack.com/services/T0/B0/${X}`, "https://hooks.slack.com/[removed]"],
  [`https://discord.com/api/webhooks/1/${X}`, "https://discord.com/api/[removed]"],
  [`redis-cli -h h -a ${X} ping`, "redis-cli -h h -a [removed] ping"],
  [`dialling anna:${X}@db:5432`, "dialling anna:[removed]@db:5432"],
  [`dialling anna:${X}/slash@db:5432/shop`],
  [`pulling anna:${X}@registry.example/x`, "pulling anna:[removed]@registry.example/x"],
  [`sig=${X}%2Fabcdefghijkl%3D`],
  [`PuTTY-User-Key-File-2: ssh-rsa\nPrivate-Lines: 1\n${X}\nPrivate-MAC: ${X}\nall is well`, "[removed]\nall is well"],
  [`the token is hunter2${X}`],
  [`-----BEGIN EC PRIVATE KEY-----\n${X}\n-----END EC PRIVATE KEY-----\n`],
  [`-----BEGIN CERTIFICATE-----\n${X} that was cut off`],
];

for (const [text, left] of WITH_SECRET)
  test(`the secret is taken out of ${text.replaceAll("\n", " ")}`, () => {
    assert.doesNotMatch(redactText(text), /hunter|4711x/);
    if (left !== undefined) assert.equal(redactText(text), left);
  });

const LOOKING_LIKE_ONE = [
  "ghp_0123456789abcdefghijABCDEFGHIJ012345",
  "github_pat_11ABCDEFG0abcdefghij_klmnopqrstuvwxyz",
  "glpat-abcdefghij0123456789",
  "xoxb-123456789012-abcdefghijkl",
  "sk-abcdefghijklmnopqrstuvwx",
  "sk_live_abcdefghijklmnop",
  "npm_abcdefghijklmnopqrstuvwxyz",
  "AKIAIOSFODNN7EXAMPLE",
  "AIzaSyA-abcdefghijklmnopqrstuv",
  "hvs.abcdefghijklmnop",
  "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY1",
  "q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA=",
  "zT7qP2mK9xW4vB1nR8sL5dF3",
  "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmVk",
  "abcdef.0123456789abcdef",
  `fjord1.${"ab".repeat(20)}`,
];

for (const secret of LOOKING_LIKE_ONE)
  test(`${secret} is a secret by its looks`, () => {
    assert.equal(redactText(`tried ${secret} there`), "tried [removed] there");
    assert.ok(!redactText(`"${secret}"`).includes(secret));
  });

const HARMLESS = [
  "all is well",
  "contract c-1 with lively-wave is Active",
  "https://wave.example:7443",
  "https://wave.example:7443/a/b@c",
  "12 pods",
  "the token expired, ask for another",
  "token: null, password: false",
  'MountVolume.SetUp failed for volume "keys": secret "web-tls-1" not found',
  "key=shop/web-7c6d8f9b5-x2x4z attempts=3",
  "topologyKey: topology.kubernetes.io/zone",
  "passed: 3, bypassed: 0, author: anna, keyboard=de",
  "GET /api/v1/namespaces/shop/pods?watch=true&resourceVersion=4711&labelSelector=app%3Dweb",
  "image registry.example/shop@sha256:0f4d1b2c3a495867a0b1c2d3e4f5061728394a5b6c7d8e9f0a1b2c3d4e5f6071",
  "uid 4f9d0e5a-6a3c-4c1e-9d55-0b1f7f3f2a10",
  "/var/lib/kubelet/pods/4f9d0e5a-6a3c-4c1e-9d55-0b1f7f3f2a10/volumes/kubernetes.io~projected/kube-api-access-x2x4z",
  "0/3 nodes are available: 1 node(s) had untolerated taint {fjord.dev/not-ready: }, 2 Insufficient cpu.",
  "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
  "at 2026-11-16T22:15:21.123Z",
  "failed with FJORD_OFFLOAD_REFUSED: AmountExceeded",
  "fjord-node.kube-system.svc.cluster.local answers",
  "fjord-controller-manager-leader-election.lock",
  "secret: shop/db-credentials missing",
  "secret shop/db-credentials-2 is missing",
  "secret web-tls-1 not found",
  "image shop:v1@sha256:0f4d1b2c3a495867a0b1c2d3e4f5061728394a5b6c7d8e9f0a1b2c3d4e5f6071",
  "at run (file:///app/node_modules/@fjord/base/errors.ts:3:14)",
  "Unexpected token 'export' in JSON",
  "conditions:\n  ready: true\nspec:\n  a: b",
];

for (const text of HARMLESS) test(`nothing is taken out of ${text}`, () => assert.equal(redactText(text), text));

test("a key in hexadecimal is one behind a word that says so", () => {
  const key = "0f4d1b2c3a495867a0b1c2d3e4f50617";
  assert.equal(redactText(`encryption-key ${key}`), "encryption-key [removed]");
  assert.equal(redactText(`revision ${key}`), `revision ${key}`);
});

test("of a line that nobody wrote for people the end is removed", () => {
  const line = "all is well. ".repeat(1_000);
  assert.equal(redactText(`${line}\nall is well`), `${line.slice(0, 8_000)}[removed: 5000 characters]\nall is well`);
});

test("a log that is hard to read is read all the same", () => {
  for (const piece of [
    "password:\n ",
    "a:",
    "a:b@",
    "\u001b[",
    "\u001b]",
    "password is: '",
    "redis-cli -a ",
    'password="',
    "token=",
    "name:",
    "\\",
    "://a:",
    "a/",
    "?a=",
    "-u a",
    "aB1",
    '"data":{',
  ])
    assert.ok(redactText(`${piece.repeat(20_000)}\nall is well`).endsWith("\nall is well") || piece === '"data":{');
});

test("the time that a log takes grows with its length, not with that of its lines", () => {
  const log = Array(600).fill("a".repeat(8_000)).join("\n");
  const start = performance.now();
  assert.equal(redactText(log), log);
  // About a second; where each letter is tried as the beginning of a key it is minutes.
  assert.ok(performance.now() - start < 60_000);
});
