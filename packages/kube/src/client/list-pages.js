import { isGone } from "./api-error.ts";
/** Objects per page where the caller names no number: what kubectl and client-go ask for. */
const PAGE_SIZE = 500;
/**
 * The pages of a list, one after another. All show one moment, unless reading takes so long that the server forgets it:
 * then the rest is read from a newer one. Each object comes at most once either way.
 */
export async function* listPages(reader, kind, options) {
    let request = { ...options, limit: options.limit ?? PAGE_SIZE };
    for (;;) {
        let page;
        try {
            page = await reader.list(kind, request);
        }
        catch (error) {
            const next = isGone(error) ? error.status?.metadata?.continue : undefined;
            if (next === undefined || next === request.continue)
                throw error;
            request = { ...request, continue: next };
            continue;
        }
        yield page;
        if (!page.metadata.continue)
            return;
        // The token says which revision it belongs to; a server refuses both.
        const { resourceVersion: _, resourceVersionMatch: __, ...rest } = request;
        request = { ...rest, continue: page.metadata.continue };
    }
}
