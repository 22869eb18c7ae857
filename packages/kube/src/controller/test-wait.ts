/** For tests against a real server: resolves when the condition holds, and says what it was about when it does not. */
export async function eventually(
  what: string,
  condition: () => boolean | Promise<boolean>,
  ms = 60_000,
): Promise<void> {
  const end = performance.now() + ms;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`not within ${ms} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
