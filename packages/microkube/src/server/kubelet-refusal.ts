import { badRequest, StatusError } from "../status-error.ts";

/** Words of Kubernetes for what a kubelet says with a code alone. */
const words: Readonly<Record<number, readonly [reason: string, message: string]>> = {
  401: ["Unauthorized", "the server has asked for the client to provide credentials"],
  404: ["NotFound", "the server could not find the requested resource"],
  405: ["MethodNotAllowed", "the server does not allow this method on the requested resource"],
  429: ["TooManyRequests", "the server has received too many requests and has asked us to try again later"],
  503: ["ServiceUnavailable", "the server is currently unable to handle the request"],
  504: [
    "Timeout",
    "the server was unable to return a response in the time allotted, but may still be processing the request",
  ],
};

/** What the reader of a pod's log is told where the kubelet has none: a Status, with the kubelet's words. */
export function kubeletRefusal(code: number, text: string, pod: string): StatusError {
  if (code === 400) return badRequest(text);
  if (code === 500) {
    return new StatusError(500, "InternalError", `Internal error occurred: ${text}`, { causes: [{ message: text }] });
  }
  const [reason, message] = words[code] ?? otherwise(code, text);
  return new StatusError(code, reason, `${message} ( pods ${pod})`, { name: pod, kind: "pods" });
}

function otherwise(code: number, text: string): readonly [reason: string, message: string] {
  if (code === 403) return ["Forbidden", text];
  if (code >= 500) {
    return [
      "InternalError",
      `an error on the server (${JSON.stringify(text)}) has prevented the request from succeeding`,
    ];
  }
  return ["", `the server responded with the status code ${code} but did not return more information`];
}
