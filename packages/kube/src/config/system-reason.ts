const reasons: Record<string, string> = {
  ENOENT: "no such file",
  EACCES: "permission denied",
  EISDIR: "it is a directory",
  ENOTDIR: "a part of its path is not a directory",
  ELOOP: "too many symbolic links",
};

/** Why the system refused, in words, for a message that already names the file. */
export function systemReason(error: unknown): string {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  return (code !== undefined && reasons[code]) || code || (error instanceof Error ? error.message : String(error));
}
