/** Resolves once `holds` does. What it cannot yet be told, such as for a missing object, counts as no. */
export async function eventually(holds: () => Promise<boolean>, timeoutMs = 60_000): Promise<void> {
  const end = Date.now() + timeoutMs;
  let last: unknown;
  while (Date.now() < end) {
    try {
      if (await holds()) return;
      last = undefined;
    } catch (error) {
      last = error;
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`it did not come to this within ${timeoutMs} ms: ${holds}`, { cause: last });
}
