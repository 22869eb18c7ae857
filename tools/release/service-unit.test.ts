import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";

const root = dirname(dirname(import.meta.dirname));
const template = readFileSync(join(root, "deploy/ansible/roles/fjord/templates/fjord-micro.service.j2"), "utf8");
const noSystemd = spawnSync("systemd-analyze", ["--version"]).status !== 0 && "no systemd-analyze on this machine";

const values: Readonly<Record<string, string>> = {
  fjord_site_name: "frosty-wood",
  fjord_program: "/bin/true",
  fjord_tier: "device",
  fjord_state_directory: "/var/lib/fjord",
  fjord_address: "192.0.2.7",
};

/** As Ansible renders it. */
function unitWith(endpoints: readonly string[]): string {
  const loop = /\{% for endpoint in fjord_endpoints %\}(.*?)\{% else %\}(.*?)\{% endfor %\}\n/s;
  return template
    .replace(loop, (_, each: string, none: string) =>
      endpoints.length === 0 ? none : endpoints.map((endpoint) => each.replace("{{ endpoint }}", endpoint)).join(""),
    )
    .replace(/\{\{ (\w+) \}\}/g, (_, name: string) => values[name] ?? assert.fail(`the unit asks for ${name}`));
}

describe("the unit for systemd that devices get", () => {
  for (const endpoints of [[], ["https://wood.example:7443", "https://192.0.2.7:7443"]]) {
    const unit = unitWith(endpoints);

    test(`is one, with ${endpoints.length} endpoints`, { skip: noSystemd }, (t) => {
      const folder = mkdtempSync(join(tmpdir(), "fjord-unit-"));
      try {
        const file = join(folder, "fjord-micro.service");
        writeFileSync(file, unit);
        const { status, stderr } = spawnSync("systemd-analyze", ["verify", file], { encoding: "utf8" });
        // What it says of other units of the machine is not ours.
        const said = stderr.split("\n").filter((line) => line.includes("fjord-micro"));
        assert.deepEqual(said, []);
        if (status !== 0) t.skip(`systemd-analyze cannot look at units here: ${stderr}`);
      } finally {
        rmSync(folder, { recursive: true });
      }
    });

    test(`has only options that \`fjord micro\` has, with ${endpoints.length} endpoints`, () => {
      const cli = join(root, "packages/cli/src/cli.ts");
      const help = execFileSync(process.execPath, [cli, "micro", "run", "--help"], { encoding: "utf8" });
      const options = unit.match(/--[a-z-]+/g) ?? [];
      assert.ok(options.length > 3);
      for (const option of options) assert.match(help, new RegExp(`^ +${option}\\b`, "m"));
    });
  }
});
