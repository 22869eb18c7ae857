/** A header that is there at most once. */
export function headerValue(headers, name) {
    const value = headers[name];
    return Array.isArray(value) ? value[0] : value;
}
/** Seconds to wait by a Retry-After header, which holds seconds or a date. */
export function retryAfterSeconds(headers, now) {
    const value = headerValue(headers, "retry-after");
    if (value === undefined)
        return undefined;
    const seconds = Number(value);
    if (Number.isFinite(seconds))
        return Math.max(0, seconds);
    const date = Date.parse(value);
    return Number.isNaN(date) ? undefined : Math.max(0, (date - now) / 1000);
}
