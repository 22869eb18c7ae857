/** How long pipes are kept for the process after this one, in tenths of a second. */
const AFTERLIFE = 1_200;
/** How long another keeper is waited for, likewise. */
const PATIENCE = 100;
/** Of each stream, in bytes: far more than can be on its way when a container has ended. */
const MOST = 4 * 1024 * 1024;

/**
 * What a keeper does: nothing until its standard input ends with the node; then, as long as it is the one that is noted, it
 * looks for pipes whose names the runtime has removed, which it does when it reads no more, and reads each to its end. Its
 * arguments are the directory, the keeper before it, and the names of the pipes that it has as its descriptors from 3 on.
 *
 * It opens a pipe anew, since what it was given does not block, and a shell names no descriptor above 9. For writing too at
 * first: a pipe that nobody writes to any more cannot be opened for reading alone.
 */
export const keeperScript = `umask 077
cd "$1" || exit
before=$2
shift 2
read -r _
is_kept() { read -r pid <keeper && [ "$pid" = $$ ]; }
pause() { sleep 0.1 || sleep 1; }
is_kept || exit
turn=0
while [ -n "$before" ] && kill -0 "$before" && [ $turn -lt ${PATIENCE} ]; do pause; turn=$((turn + 1)); done
readers=
turn=0
while is_kept && [ $turn -lt ${AFTERLIFE} ]; do
  n=3
  for path; do
    eval "begun=\\$begun_$n"
    if [ -z "$begun" ] && [ ! -e "$path" ]; then
      eval "begun_$n=1"
      (exec 7<>/proc/self/fd/$n; exec 8</proc/self/fd/$n; exec 7>&-; exec head -c ${MOST} <&8 >>"\${path##*/}") &
      readers="$readers $!"
    fi
    n=$((n + 1))
  done
  pause
  turn=$((turn + 1))
done
turn=0
for reader in $readers; do
  while kill -0 "$reader" && [ $turn -lt ${PATIENCE / 2} ]; do pause; turn=$((turn + 1)); done
done
[ -z "$readers" ] || kill $readers
`;
