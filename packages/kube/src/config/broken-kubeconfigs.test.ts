import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { FjordError } from "@fjord/base";
import { ManualClock } from "@fjord/base/testing";
import { type LoadOptions, loadClusterConfig } from "./load.ts";
import { caPem, clientCertPem, clientKeyPem, encryptedKeyPem, serverKeyPem } from "./test-certificates.ts";

const directory = mkdtempSync(join(tmpdir(), "fjord-kubeconfig-"));
const file = join(directory, "config");
after(() => rmSync(directory, { recursive: true }));

const secret = "hunter2";
const base64 = (text: string) => Buffer.from(text).toString("base64");

writeFileSync(join(directory, "ca.crt"), caPem);
writeFileSync(join(directory, "client.crt"), clientCertPem);
writeFileSync(join(directory, "empty"), " \n");
writeFileSync(join(directory, "two-lines"), `${secret}\n${secret}\n`);
writeFileSync(join(directory, "junk.crt"), secret);
mkdirSync(join(directory, "folder"));

/** A kubeconfig whose third cluster, user and context are the ones in use. */
function kubeconfig(cluster: string, user = "", context = "cluster: c, user: u"): string {
  return `
apiVersion: v1
kind: Config
current-context: x
clusters:
- {name: a, cluster: {server: "https://a"}}
- {name: b, cluster: {server: "https://b"}}
- {name: c, cluster: {${cluster}}}
users:
- {name: a, user: {}}
- {name: b, user: {}}
- {name: u, user: {${user}}}
contexts:
- {name: prod-eu, context: {cluster: a, user: a}}
- {name: prod-us, context: {cluster: b, user: b}}
- {name: x, context: {${context}}}
`;
}
const server = 'server: "https://c"';
const withUser = (user: string) => kubeconfig(server, user);
const exec = (fields: string) => withUser(`exec: {${fields}}`);
const v1 = "client.authentication.k8s.io/v1";

interface Case {
  what: string;
  text: string;
  /** What comes after `<file>: `, or the whole message. */
  says?: string;
  message?: string;
  options?: Partial<LoadOptions>;
}

const cases: Case[] = [
  // The file as a whole.
  {
    what: "bad indentation",
    text: "clusters:\n- name: a\n cluster: {}\n",
    message: `${file}:3:1: not valid YAML: wrong indentation, or a quote, bracket, comma or colon is missing`,
  },
  { what: "a tab", text: "clusters:\n\t- name: a\n", message: `${file}:2:1: not valid YAML: a tab in the indentation` },
  {
    what: "an open quote",
    text: `users:\n- name: "a\n`,
    message: `${file}:3:1: not valid YAML: wrong indentation, or a quote, bracket, comma or colon is missing`,
  },
  {
    what: "truncated JSON",
    text: '{"clusters": [{"name": "a"',
    message: `${file}:1:27: not valid YAML: wrong indentation, or a bracket that is not closed`,
  },
  {
    what: "the same key twice",
    text: "users: []\nusers: []\n",
    message: `${file}:2:1: not valid YAML: the same key twice in one mapping`,
  },
  {
    what: "two documents",
    text: "kind: Config\n---\nkind: Config\n",
    message: `${file}:2:1: not valid YAML: more than one document in the file`,
  },
  {
    what: "a list at the top",
    text: "- a\n",
    message: `${file}:1:1: not valid YAML: a kubeconfig is a mapping, this is something else`,
  },
  {
    what: "plain text",
    text: secret,
    message: `${file}:1:1: not valid YAML: a kubeconfig is a mapping, this is something else`,
  },
  {
    what: "a token with a colon out of quotes",
    text: `users:\n- name: a\n  user:\n    token: ${secret}: x\n`,
    message: `${file}:4:12: not valid YAML: a mapping inside a value on one line (quote values that hold a colon)`,
  },
  { what: "another kind", text: "kind: Secret", says: "kind: expected Config, got Secret" },
  { what: "another version", text: "apiVersion: v2", says: "apiVersion: expected v1, got v2" },
  { what: "clusters as a mapping", text: "clusters: {a: {}}", says: "clusters: expected a list, got a mapping" },
  { what: "users as a string", text: `users: ${secret}`, says: "users: expected a list, got a string" },
  {
    what: "an entry that is a string",
    text: `users: [{name: a}, ${secret}]`,
    says: "users[1]: expected a mapping, got a string",
  },
  { what: "an entry without a name", text: "users: [{name: a}, {user: {}}]", says: "users[1].name: missing" },
  {
    what: "a name that is a number",
    text: "users: [{name: 7}]",
    says: "users[0].name: expected a string, got a number",
  },
  {
    what: "two entries of one name",
    text: "users: [{name: a}, {name: a}]",
    says: 'users[1].name: there is already an entry "a" in this list',
  },
  {
    what: "a user that is a list",
    text: "users: [{name: a, user: []}]",
    says: "users[0].user: expected a mapping, got a list",
  },
  {
    what: "current-context as a list",
    text: "current-context: [a]",
    says: "current-context: expected a string, got a list",
  },

  // The context.
  {
    what: "no current-context",
    text: "contexts: [{name: a}, {name: b}]",
    message: `no current-context is set in ${file}; known contexts: a, b`,
  },
  {
    what: "an empty file that was asked for",
    text: "",
    message: `no current-context is set in ${file}; known contexts: none`,
  },
  {
    what: "a current-context that is nowhere",
    text: "current-context: prd\ncontexts: [{name: prod}]",
    says: 'current-context: there is no context "prd" (did you mean "prod"?); known context entries: prod',
  },
  {
    what: "a chosen context that is nowhere",
    text: kubeconfig(server),
    options: { context: "prod-eo" },
    message: `there is no context "prod-eo" in ${file} (did you mean "prod-eu"?); known contexts: prod-eu, prod-us, x`,
  },
  {
    what: "a chosen context that is like none",
    text: kubeconfig(server),
    options: { context: "staging" },
    message: `there is no context "staging" in ${file}; known contexts: prod-eu, prod-us, x`,
  },
  {
    what: "a context without a cluster",
    text: kubeconfig(server, "", "user: u"),
    says: "contexts[2].context.cluster: missing",
  },
  {
    what: "a context whose cluster is nowhere",
    text: kubeconfig(server, "", "cluster: zzz"),
    says: 'contexts[2].context.cluster: there is no cluster "zzz"; known cluster entries: a, b, c',
  },
  {
    what: "a context whose user is nowhere",
    text: kubeconfig(server, "", "cluster: c, user: Uu"),
    says: 'contexts[2].context.user: there is no user "Uu" (did you mean "u"?); known user entries: a, b, u',
  },
  {
    what: "a namespace that is a number",
    text: kubeconfig(server, "", "cluster: c, namespace: 5"),
    says: "contexts[2].context.namespace: expected a string, got a number",
  },
  {
    what: "a chosen user that is nowhere",
    text: kubeconfig(server),
    options: { user: "me" },
    message: 'the chosen user: there is no user "me"; known user entries: a, b, u',
  },
  {
    what: "a chosen cluster that is nowhere",
    text: kubeconfig(server),
    options: { cluster: "me" },
    message: 'the chosen cluster: there is no cluster "me"; known cluster entries: a, b, c',
  },

  // The cluster.
  { what: "no server", text: kubeconfig(""), says: "clusters[2].cluster.server: missing" },
  {
    what: "a server that is no URL",
    text: kubeconfig('server: "https://:6443:1"'),
    says: "clusters[2].cluster.server: not a URL",
  },
  {
    what: "a server of another scheme",
    text: kubeconfig('server: "ftp://c"'),
    says: "clusters[2].cluster.server: the scheme ftp is not http or https",
  },
  {
    what: "a password in the server",
    text: kubeconfig(`server: "https://me:${secret}@c"`),
    says: "clusters[2].cluster.server: a URL must not hold a user or a password",
  },
  {
    what: "a query in the server",
    text: kubeconfig('server: "https://c/?a=b"'),
    says: "clusters[2].cluster.server: a base URL has no query and no fragment",
  },
  {
    what: "CA data that is not base64",
    text: kubeconfig(`${server}, certificate-authority-data: "%%%"`),
    says: "clusters[2].cluster.certificate-authority-data: not base64",
  },
  {
    what: "CA data that is PEM itself",
    text: kubeconfig(`${server}, certificate-authority-data: ${JSON.stringify(caPem)}`),
    says: "clusters[2].cluster.certificate-authority-data: PEM text that is not base64-encoded",
  },
  {
    what: "CA data that holds no certificate",
    text: kubeconfig(`${server}, certificate-authority-data: ${base64(secret)}`),
    says: "clusters[2].cluster.certificate-authority-data: no PEM certificate (in the decoded base64)",
  },
  {
    what: "CA data with a broken second certificate",
    text: kubeconfig(`${server}, certificate-authority-data: ${base64(`${caPem}${caPem.replace(/MII/, "MIJ")}`)}`),
    says: "clusters[2].cluster.certificate-authority-data: PEM certificate 2 of 2 cannot be decoded (in the decoded base64)",
  },
  {
    what: "a CA file that is missing",
    text: kubeconfig(`${server}, certificate-authority: pki/ca.crt`),
    says: `clusters[2].cluster.certificate-authority: cannot read ${directory}/pki/ca.crt: no such file`,
  },
  {
    what: "a CA file that is a directory",
    text: kubeconfig(`${server}, certificate-authority: folder`),
    says: `clusters[2].cluster.certificate-authority: cannot read ${directory}/folder: it is a directory`,
  },
  {
    what: "a CA file that is empty",
    text: kubeconfig(`${server}, certificate-authority: empty`),
    says: `clusters[2].cluster.certificate-authority: ${directory}/empty: empty`,
  },
  {
    what: "a CA file that is junk",
    text: kubeconfig(`${server}, certificate-authority: junk.crt`),
    says: `clusters[2].cluster.certificate-authority: ${directory}/junk.crt: no PEM certificate`,
  },
  {
    what: "a CA with verification off",
    text: kubeconfig(`${server}, certificate-authority: ca.crt, insecure-skip-tls-verify: true`),
    says: "clusters[2].cluster.insecure-skip-tls-verify: cannot be true together with certificate-authority",
  },
  {
    what: "verification off in words",
    text: kubeconfig(`${server}, insecure-skip-tls-verify: "true"`),
    says: "clusters[2].cluster.insecure-skip-tls-verify: expected true or false, got a string",
  },
  {
    what: "a proxy that is no URL",
    text: kubeconfig(`${server}, proxy-url: "proxy:3128"`),
    says: "clusters[2].cluster.proxy-url: not a URL (such as http://proxy.example.com:3128)",
  },
  {
    what: "a proxy of another scheme",
    text: kubeconfig(`${server}, proxy-url: "socks5://proxy:3128"`),
    says: "clusters[2].cluster.proxy-url: proxies of the scheme socks5 are not supported, only http and https",
  },

  // The user.
  {
    what: "an auth-provider",
    text: withUser("auth-provider: {name: oidc}"),
    says: "users[2].user.auth-provider: Kubernetes removed these in 1.26; use an exec plugin instead",
  },
  {
    what: "a token that is a number",
    text: withUser("token: 12345"),
    says: "users[2].user.token: expected a string, got a number",
  },
  {
    what: "a token of two lines",
    text: withUser(`token: "${secret}\\n${secret}"`),
    says: "users[2].user.token: holds a line break or another control character",
  },
  {
    what: "a token file that is missing",
    text: withUser("tokenFile: nowhere"),
    says: `users[2].user.tokenFile: cannot take a token from ${directory}/nowhere: no such file`,
  },
  {
    what: "a token file that is empty",
    text: withUser("tokenFile: empty"),
    says: `users[2].user.tokenFile: cannot take a token from ${directory}/empty: the file is empty`,
  },
  {
    what: "a token file of two lines",
    text: withUser("tokenFile: two-lines"),
    says: `users[2].user.tokenFile: cannot take a token from ${directory}/two-lines: it holds more than one line`,
  },
  {
    what: "a password without a user name",
    text: withUser(`password: ${secret}`),
    says: "users[2].user.username: missing, and password needs it",
  },
  {
    what: "a user name without a password",
    text: withUser("username: me"),
    says: "users[2].user.password: missing, and username needs it",
  },
  {
    what: "a user name with a colon",
    text: withUser(`username: "a:b", password: ${secret}`),
    says: "users[2].user.username: must not hold a colon",
  },
  {
    what: "a token and a password",
    text: withUser(`username: me, password: ${secret}, token: ${secret}`),
    says: "users[2].user.username: cannot stand together with token",
  },
  {
    what: "client data that is not base64",
    text: withUser("client-certificate-data: '!'"),
    says: "users[2].user.client-certificate-data: not base64",
  },
  {
    what: "client data that is not PEM",
    text: withUser(`client-certificate-data: ${base64(secret)}`),
    says: "users[2].user.client-certificate-data: no PEM certificate (in the decoded base64)",
  },
  {
    what: "a key in the certificate's place",
    text: withUser(`client-certificate-data: ${base64(clientKeyPem)}`),
    says: "users[2].user.client-certificate-data: a key where a certificate belongs (in the decoded base64)",
  },
  {
    what: "a certificate in the key's place",
    text: withUser(`client-certificate: client.crt, client-key: client.crt`),
    says: `users[2].user.client-key: ${directory}/client.crt: a certificate where a key belongs`,
  },
  {
    what: "a key that cannot be decoded",
    text: withUser(`client-key-data: ${base64(clientKeyPem.replace(/MIG/, "AAA"))}`),
    says: "users[2].user.client-key-data: a PEM private key that cannot be decoded (in the decoded base64)",
  },
  {
    what: "a key with a passphrase",
    text: withUser(`client-key-data: ${base64(encryptedKeyPem)}`),
    says: "users[2].user.client-key-data: the key is encrypted with a passphrase (in the decoded base64)",
  },
  {
    what: "a certificate without a key",
    text: withUser("client-certificate: client.crt"),
    says: "users[2].user.client-key: missing, and client-certificate needs it (client-key or client-key-data)",
  },
  {
    what: "a key without a certificate",
    text: withUser(`client-key-data: ${base64(clientKeyPem)}`),
    says: "users[2].user.client-certificate: missing, and client-key-data needs it (client-certificate or client-certificate-data)",
  },
  {
    what: "a certificate and another's key",
    text: withUser(`client-certificate: client.crt, client-key-data: ${base64(serverKeyPem)}`),
    says: "users[2].user.client-certificate: the certificate and the key do not belong together",
  },
  {
    what: "groups without a user to act as",
    text: withUser("as-groups: [a]"),
    says: "users[2].user.as: missing, and as-groups, as-uid and as-user-extra need it",
  },
  {
    what: "groups that are a string",
    text: withUser("as: me, as-groups: a"),
    says: "users[2].user.as-groups: expected a list of strings, got a string",
  },
  {
    what: "groups with a number among them",
    text: withUser("as: me, as-groups: [a, 5]"),
    says: "users[2].user.as-groups: expected a list of strings, got a number at position 1",
  },
  {
    what: "extra values that are no list",
    text: withUser("as: me, as-user-extra: {scopes: view}"),
    says: "users[2].user.as-user-extra.scopes: expected a list of strings, got a string",
  },
  {
    what: "a header smuggled into a name",
    text: withUser('as: "me\\r\\nX: y"'),
    says: "users[2].user.as: holds a line break or another control character",
  },

  // The plugin, before it runs.
  {
    what: "exec that is a string",
    text: withUser("exec: aws"),
    says: "users[2].user.exec: expected a mapping, got a string",
  },
  {
    what: "exec without apiVersion",
    text: exec("command: aws"),
    says: `users[2].user.exec.apiVersion: missing, expected ${v1} or ${v1}beta1`,
  },
  {
    what: "exec of an older version",
    text: exec(`command: aws, apiVersion: ${v1}alpha1`),
    says: `users[2].user.exec.apiVersion: "${v1}alpha1" is not supported, expected ${v1} or ${v1}beta1`,
  },
  { what: "exec without a command", text: exec(`apiVersion: ${v1}`), says: "users[2].user.exec.command: missing" },
  {
    what: "exec without interactiveMode",
    text: exec(`command: aws, apiVersion: ${v1}`),
    says: `users[2].user.exec.interactiveMode: missing, and ${v1} needs it: Never, IfAvailable, Always`,
  },
  {
    what: "exec with another interactiveMode",
    text: exec(`command: aws, apiVersion: ${v1}, interactiveMode: no`),
    says: 'users[2].user.exec.interactiveMode: "no" is not one of Never, IfAvailable, Always',
  },
  {
    what: "arguments that are a string",
    text: exec(`command: aws, apiVersion: ${v1}beta1, args: eks`),
    says: "users[2].user.exec.args: expected a list of strings, got a string",
  },
  {
    what: "a variable without a name",
    text: exec(`command: aws, apiVersion: ${v1}beta1, env: [{value: ${secret}}]`),
    says: "users[2].user.exec.env[0].name: missing",
  },
];

describe("a kubeconfig that is wrong", () => {
  for (const { what, text, says, message, options } of cases) {
    it(`says what is wrong with ${what}`, async () => {
      writeFileSync(file, text);
      const error = await failure({ kubeconfig: file, ...options });
      assert.equal(error.message, message ?? `${file}: ${says}`);
      assert.ok(!error.message.includes(secret), "a secret is in the message");
    });
  }

  it("says when the client certificate has run out", async () => {
    writeFileSync(file, withUser(`client-certificate: client.crt, client-key-data: ${base64(clientKeyPem)}`));
    const error = await failure({ kubeconfig: file, clock: new ManualClock(Date.UTC(2200, 0, 1)) });
    assert.match(error.message, /: users\[2\]\.user\.client-certificate: the certificate expired on 21\d\d-/);
  });

  it("names a file that was asked for and is not there", async () => {
    const error = await failure({ kubeconfig: join(directory, "nowhere") });
    assert.equal(error.message, `cannot read the kubeconfig ${directory}/nowhere: no such file`);
  });

  it("names a file that may not be read", {
    skip: process.getuid?.() === 0 && "root may read everything",
  }, async () => {
    writeFileSync(file, "");
    chmodSync(file, 0);
    const error = await failure({ kubeconfig: file });
    chmodSync(file, 0o600);
    assert.equal(error.message, `cannot read the kubeconfig ${file}: permission denied`);
  });

  it("minds nothing in entries that are not used, nor fields that it does not know", async () => {
    writeFileSync(
      file,
      `${withUser("token: t, colour: blue")}preferences: {colors: true}\nextra: 1\n`.replace('"https://a"', "7"),
    );
    const config = await loadClusterConfig({ env: {}, kubeconfig: file });
    assert.equal(config.server, "https://c");
  });
});

async function failure(options: Partial<LoadOptions>): Promise<FjordError> {
  const outcome = await loadClusterConfig({ env: {}, ...options }).catch((error: unknown) => error);
  assert.ok(outcome instanceof FjordError, `expected a FjordError, got ${outcome}`);
  return outcome;
}
