export function logQuery(options) {
    const { signal: _, ...query } = options;
    return { ...query };
}
