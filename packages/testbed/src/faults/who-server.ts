export const PORT = 8080;
export const PATH = "/cgi-bin/who";

/** What pods run that say who answers: their own names. */
export const SERVER = [
  "sh",
  "-c",
  `mkdir -p /www/cgi-bin
printf '#!/bin/sh\\necho; echo "$(hostname)"\\n' > /www${PATH}
chmod +x /www${PATH}
exec httpd -f -p ${PORT} -h /www`,
];
