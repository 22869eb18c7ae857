import { defineError, type ErrorType, FjordError, type Placeholders } from "@fjord/base";

/** Something that the kubelet API refuses, with the HTTP status that says so. */
export interface KubeletApiError extends FjordError {
  readonly status: number;
}

/** Whether the thrown thing says by itself which HTTP status it means. */
export function isKubeletApiError(thrown: unknown): thrown is KubeletApiError {
  return thrown instanceof FjordError && "status" in thrown && typeof thrown.status === "number";
}

interface KubeletErrorType<Template extends string> extends ErrorType<Template> {
  new (values: Placeholders<Template>, options?: ErrorOptions): KubeletApiError;
}

function defineKubeletError<const Template extends string>(
  status: number,
  code: string,
  template: Template,
  advice: string,
): KubeletErrorType<Template> {
  return class extends defineError(code, template, advice) {
    readonly status = status;
  };
}

export const PodNotHere = defineKubeletError(
  404,
  "KUBELET_POD_NOT_FOUND",
  'pod "{pod}" does not exist',
  "The pod is not on this node, or not yet; `kubectl get pod -o wide` shows where it is.",
);

export const ContainerNotHere = defineKubeletError(
  404,
  "KUBELET_CONTAINER_NOT_FOUND",
  'container "{container}" not found in pod "{pod}"',
  "Name one of the pod's containers; `kubectl describe pod` lists them.",
);

export const ContainerNotRunning = defineKubeletError(
  400,
  "KUBELET_CONTAINER_NOT_RUNNING",
  'container "{container}" in pod "{pod}" is not running: {state}',
  "Wait until it runs; `kubectl describe pod` tells why it does not.",
);

export const NoPreviousContainer = defineKubeletError(
  400,
  "KUBELET_NO_PREVIOUS_CONTAINER",
  'previous terminated container "{container}" in pod "{pod}" not found',
  "The container has not been restarted, or what it left was cleaned up; ask without --previous.",
);

export const ContainerWaiting = defineKubeletError(
  400,
  "KUBELET_CONTAINER_WAITING",
  'container "{container}" in pod "{pod}" is waiting to start: {reason}',
  "There is no log yet; `kubectl describe pod` tells what it waits for.",
);

export const InvalidRequest = defineKubeletError(
  400,
  "KUBELET_INVALID_REQUEST",
  "{problem}",
  "Ask as an API server does.",
);

export const InvalidLogOptions = defineKubeletError(
  422,
  "KUBELET_INVALID_LOG_OPTIONS",
  "invalid log options: {problem}",
  "Numbers of lines and bytes are positive, and at most one of sinceSeconds and sinceTime is given.",
);

export const NoSuchPath = defineKubeletError(
  404,
  "KUBELET_NO_SUCH_PATH",
  "404 page not found",
  "The node serves logs, exec, attach, port-forward, statistics, metrics, pods and its health.",
);

export const MethodNotAllowed = defineKubeletError(
  405,
  "KUBELET_METHOD_NOT_ALLOWED",
  "405: Method Not Allowed",
  "Use GET, or POST for exec, attach and port-forward.",
);

export const Unauthenticated = defineKubeletError(
  401,
  "KUBELET_UNAUTHENTICATED",
  "Unauthorized",
  "Come with a client certificate of the cluster's authority or with a bearer token of the cluster.",
);

export const Forbidden = defineKubeletError(
  403,
  "KUBELET_FORBIDDEN",
  "Forbidden (user={user}, verb={verb}, resource=nodes, subresource(s)=[{subresources}])",
  "Let a ClusterRole allow the verb on nodes with one of the subresources, and bind the user to it.",
);

export const ReviewFailed = defineKubeletError(
  503,
  "KUBELET_REVIEW_FAILED",
  "cannot ask the API server {question}: {reason}",
  "Nobody is let in whom the API server has not confirmed. Check that the node reaches it, and that it may create reviews.",
);

export const TooManyStreams = defineKubeletError(
  503,
  "KUBELET_TOO_MANY_STREAMS",
  "the node already serves {limit} streams",
  "Close some; whoever opens thousands of them has most likely forgotten to.",
);

export const ProtocolNotSpoken = defineKubeletError(
  403,
  "KUBELET_PROTOCOL_NOT_SPOKEN",
  "unable to upgrade: unable to negotiate protocol: client supports [{client}], server accepts [{server}]",
  "Use a client of a supported Kubernetes version.",
);

export const CannotListen = defineError(
  "KUBELET_CANNOT_LISTEN",
  "cannot serve the kubelet API on port {port}: {reason}",
  "Stop what listens there, or give the node another port (--port; --kubelet-port of `fjord micro`) or --address.",
);

export const InvalidServingTls = defineError(
  "KUBELET_INVALID_TLS",
  "cannot serve the kubelet API with the certificate or client authority given: {reason}",
  "Check the files of the node's serving certificate, its key and the cluster's client authority.",
);
