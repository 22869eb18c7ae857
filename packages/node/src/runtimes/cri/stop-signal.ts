/** In the order in which the Container Runtime Interface counts them, from 1. */
const NAMES = [
  ..."ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS TERM".split(
    " ",
  ),
  ..."TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN".split(" "),
  ...Array.from({ length: 15 }, (_, i) => `RTMINPLUS${i + 1}`),
  ...Array.from({ length: 14 }, (_, i) => `RTMAXMINUS${14 - i}`),
  "RTMAX",
];

/** The number of a stop signal (`SIGUSR1`, `SIGRTMIN+3`); 0, the image's own, where there is none. */
export function stopSignalNumber(name: string | undefined): number {
  if (name === undefined) return 0;
  return NAMES.indexOf(name.replace(/^SIG/, "").replace("+", "PLUS").replace("-", "MINUS")) + 1;
}
