/** A word as POSIX shells read it back unchanged, whatever is in it. */
export function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Words of a command line. */
export function commandLine(words: readonly string[]): string {
  return words.map(quote).join(" ");
}
