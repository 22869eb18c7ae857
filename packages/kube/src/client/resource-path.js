import { InvalidAddress } from "./errors.ts";
/** `/api/v1` or `/apis/apps/v1`. */
export function groupVersionPath(kind) {
    return kind.group === "" ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`;
}
/** Where the objects of a kind are: in one namespace, or everywhere when `namespace` is absent. */
export function collectionPath(kind, namespace) {
    const base = groupVersionPath(kind);
    if (namespace === undefined || namespace === "")
        return `${base}/${kind.plural}`;
    if (!kind.namespaced) {
        throw new InvalidAddress({ target: `${kind.kind} in ${namespace}`, reason: "the kind is not namespaced" });
    }
    return `${base}/namespaces/${segment(kind, "namespace", namespace)}/${kind.plural}`;
}
/** Where one object is, or a subresource of it such as `status`. */
export function objectPath(kind, key, subresource) {
    if (kind.namespaced && (key.namespace === undefined || key.namespace === "")) {
        throw new InvalidAddress({
            target: describeTarget(kind, key),
            reason: "the kind is namespaced and none was given",
        });
    }
    const path = `${collectionPath(kind, key.namespace)}/${segment(kind, "name", key.name)}`;
    return subresource === undefined ? path : `${path}/${subresource}`;
}
/** `Pod default/web`, as errors name it. */
export function describeTarget(kind, key) {
    if (key === undefined || (key.name === undefined && !key.namespace))
        return kind.kind;
    const name = key.name ?? "*";
    return `${kind.kind} ${key.namespace ? `${key.namespace}/${name}` : name}`;
}
/** `?a=1&b=x`, leaving out what is undefined; empty when nothing is left. */
export function queryString(parameters) {
    let query = "";
    for (const name in parameters) {
        const value = parameters[name];
        if (value === undefined)
            continue;
        query += `${query === "" ? "?" : "&"}${name}=${encodeURIComponent(value)}`;
    }
    return query;
}
// A server resolves `..` and empty segments, and would act on another object than the one that was meant.
function segment(kind, what, value) {
    const target = `${kind.kind} ${JSON.stringify(value)}`;
    if (typeof value !== "string" || value === "")
        throw new InvalidAddress({ target, reason: `its ${what} is empty` });
    if (value === "." || value === "..")
        throw new InvalidAddress({ target, reason: `${value} is no ${what}` });
    if (/[/%]/.test(value))
        throw new InvalidAddress({ target, reason: `a ${what} holds neither a slash nor a percent sign` });
    return encodeURIComponent(value);
}
