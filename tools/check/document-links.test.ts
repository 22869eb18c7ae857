import assert from "node:assert/strict";
import { test } from "node:test";
import { anchorsOf, findBrokenLinks } from "./document-links.ts";

function broken(text: string, files: string[] = [], others: { path: string; text: string }[] = []): string[] {
  const known = new Set(["docs/page.md", ...files, ...others.map((other) => other.path)]);
  const documents = [{ path: "docs/page.md", text }, ...others];
  return findBrokenLinks(documents, (path) => known.has(path)).map(
    (link) => `${link.line} ${link.target}: ${link.why}`,
  );
}

test("links to files that are there, to the web and by mail pass", () => {
  assert.deepEqual(broken("[a](../README.md) [b](https://x.org/y) [c](mailto:a@b.c)", ["README.md"]), []);
});

test("a link to a file that is not there is named with its line", () => {
  assert.deepEqual(broken("one\n\n[a](missing.md)"), ["3 missing.md: there is no docs/missing.md"]);
});

test("a link out of the repository is broken for everybody else", () => {
  assert.deepEqual(broken("[a](../../elsewhere.md)"), ["1 ../../elsewhere.md: leaves the repository"]);
});

test("an anchor must be a heading of the page it names", () => {
  const other = { path: "docs/other.md", text: "# Life of a `pod`\n" };
  assert.deepEqual(broken("[a](other.md#life-of-a-pod)", [], [other]), []);
  assert.deepEqual(broken("[a](other.md#life)", [], [other]), [
    "1 other.md#life: docs/other.md has no heading for #life",
  ]);
  assert.deepEqual(broken("# Here\n[a](#here) [b](#there)"), ["2 #there: docs/page.md has no heading for #there"]);
});

test("every form of link counts", () => {
  const nowhere = (text: string) => assert.match(broken(text).join(), /there is no docs\/nowhere.md/, text);
  nowhere("[a][r]\n\n[r]: nowhere.md");
  nowhere('<a class="x" href="nowhere.md">a</a>');
  nowhere('![a](nowhere.md "title")');
  assert.deepEqual(broken("[a](%ZZ.md)"), ["1 %ZZ.md: its escapes cannot be decoded"]);
});

test("code is not prose", () => {
  assert.deepEqual(broken("`[a](nowhere.md)`\n```\n[b](nowhere.md)\n```\n"), []);
});

test("repeated headings get numbered anchors", () => {
  assert.deepEqual([...anchorsOf("# A b\n## A b\n### C, d!\n")], ["a-b", "a-b-1", "c-d"]);
});
