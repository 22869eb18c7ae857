/** Where the test's pods are asked. */
export const TEST_PORT = 8080;
/** Where they listen too, and a NetworkPolicy lets nobody in. */
export const CLOSED_PORT = 8081;
/** A file that they serve: of many packets of full size, and of few seconds also where links are slow. */
export const BULK = { path: "bulk", bytes: 64 * 1024 } as const;
/** What the script ends with where the image has nothing to listen by. */
export const NO_SERVER = 66;

/**
 * For `sh`: serves a file at both ports, by what an image has. A pod that is a process listens at its own address alone: all pods of its machine
 * have the same ports.
 */
export const serverScript = `dir=\${HOME:-/tmp}; [ -w "$dir" ] || dir=/tmp
mkdir -p "$dir/www" && head -c ${BULK.bytes} /dev/zero >"$dir/www/${BULK.path}" || exit 1
case $POD_IP in 127.*) at="$POD_IP:"; bind="--bind $POD_IP" ;; *) at=; bind= ;; esac
if busybox httpd --help >/dev/null 2>&1; then
  busybox httpd -f -p "\${at}${CLOSED_PORT}" -h "$dir/www" &
  exec busybox httpd -f -p "\${at}${TEST_PORT}" -h "$dir/www"
elif command -v python3 >/dev/null 2>&1; then
  cd "$dir/www"
  python3 -m http.server $bind ${CLOSED_PORT} &
  exec python3 -m http.server $bind ${TEST_PORT}
fi
exit ${NO_SERVER}
`;
