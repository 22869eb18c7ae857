const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;
const UID = /^[A-Za-z0-9][-A-Za-z0-9]{0,127}$/;

/** Whether it can be the name of a namespace, pod or container: nothing else gets near a file's path. */
export function isName(text: string): boolean {
  return NAME.test(text) && !text.includes("..");
}

export function isUid(text: string): boolean {
  return UID.test(text);
}
