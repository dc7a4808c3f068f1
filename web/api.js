/* Requests to the server. Addresses are relative, so that the page also works below a prefix that a
 * proxy strips.
 *
 * The token is kept for this tab and until it is closed (sessionStorage), and goes to this server
 * alone. Without a token no `Authorization` is sent: where none is configured, any would be
 * wrong. */

const KEY = "sluice-token";
const PATIENCE_MS = 10000;

/* An answer that is an error: a problem of RFC 9457, or another text in its place. */
export class Problem extends Error {
    constructor(status, body) {
        super(body?.detail ?? `The server answered ${status}.`);
        this.status = status;
        this.errors = body?.errors ?? [];
    }
}

export const hasToken = () => sessionStorage.getItem(KEY) !== null;
export const setToken = (token) => sessionStorage.setItem(KEY, token);
export const dropToken = () => sessionStorage.removeItem(KEY);

/* Called with the problem when the server refuses the token: 401, or 403 to a request that only
 * reads. */
let refused = () => {};
export function onRefused(act) {
    refused = act;
}

/* How far the server's clock is ahead of ours. `Date` has whole seconds: less than two seconds
 * count as none. */
let aheadMs = 0;
export const serverNowMs = () => Date.now() + aheadMs;

function noteClock(date) {
    const ahead = Date.parse(date ?? "") - Date.now();
    aheadMs = Math.abs(ahead) > 2000 ? ahead : 0;
}

/* Gives up when `signal` is aborted, or after PATIENCE_MS. */
async function send(address, options, signal) {
    const patience = new AbortController();
    const stop = () => patience.abort();
    const timer = setTimeout(stop, PATIENCE_MS);
    signal?.addEventListener("abort", stop, { once: true });
    try {
        const how = { ...options, cache: "no-store", signal: patience.signal };
        const answer = await fetch(address, how);
        return { answer, text: await answer.text() };
    } finally {
        clearTimeout(timer);
        signal?.removeEventListener("abort", stop);
    }
}

function read(text) {
    try {
        return JSON.parse(text);
    } catch {
        return null; /* a proxy's page, perhaps */
    }
}

/* Prints a query without its empty parameters. The server reads a plus as a plus: a space is
 * %20. */
function addressOf(path, query = {}) {
    const given = Object.entries(query).filter(([, value]) => (value ?? "") !== "");
    const search = new URLSearchParams(given).toString().replaceAll("+", "%20");
    return search ? `${path}?${search}` : path;
}

function headersOf({ body, etag }) {
    const headers = { Accept: "application/json" };
    if (hasToken())
        headers.Authorization = `Bearer ${sessionStorage.getItem(KEY)}`;
    if (body !== undefined)
        headers["Content-Type"] = "application/json";
    if (etag)
        headers["If-Match"] = etag;
    else if (etag === null)
        headers["If-None-Match"] = "*";
    return headers;
}

/* Resolves to the answer's JSON. `more` may have a query, a body (a text as it is, or a value), the
 * tag that the thing must still have (null: there must be no such thing), a signal, and whether the
 * request only reads (GET does). */
async function ask(method, path, more = {}) {
    const body = typeof more.body === "object" ? JSON.stringify(more.body) : more.body;
    const options = { method, body, headers: headersOf(more) };
    const { answer, text } = await send(addressOf(path, more.query), options, more.signal);
    noteClock(answer.headers.get("Date"));
    const value = read(text);
    if (answer.ok && value !== null)
        return value;
    const problem = new Problem(answer.status, value);
    if (answer.status === 401 || (answer.status === 403 && (more.looks ?? method === "GET")))
        refused(problem); /* not 429: a block after wrong guesses ends by itself */
    throw problem;
}

/* ---- requests by name ---- */

export const stats = (query, signal) => ask("GET", "v1/stats", { query, signal });
export const audit = (query, signal) => ask("GET", "v1/audit", { query, signal });
export const look = (request, signal) =>
    ask("POST", "v1/look", { body: request, signal, looks: true });
export const reset = (request) => ask("POST", "v1/reset", { body: request });
export const user = (id, tenant, signal) =>
    ask("GET", `v1/users/${encodeURIComponent(id)}`, { query: { tenant }, signal });
export const exemptions = (signal) => ask("GET", "v1/exemptions", { signal });
export const exempt = (body) => ask("POST", "v1/exemptions", { body });
/* Resolves to the name that the list would have for it. Changes nothing. */
export const nameExemption = (kind, value) =>
    ask("POST", "v1/exemptions", { body: { kind, value }, query: { dry_run: "true" } });
export const endExemption = (kind, value) =>
    ask("DELETE", "v1/exemptions", { body: { kind, value } });

/* A tenant's own rule is called TENANT/RULE everywhere, and has a path of its own. */
function rulePath(name) {
    const [, tenant, own] = /^([^/]*)\/(.*)$/s.exec(name) ?? [null, null, name];
    const rule = encodeURIComponent(own);
    return tenant === null ? `v1/rules/${rule}`
        : `v1/tenants/${encodeURIComponent(tenant)}/rules/${rule}`;
}

/* All rules in force, by the names in the statistics. One list instead of one request for each
 * rule: a rule that does not exist is no error then. */
export async function rules(signal) {
    const answer = await ask("GET", "v1/rules", { signal });
    const nameOf = ({ tenant, name }) => (tenant ? `${tenant}/${name}` : name);
    return new Map(answer.rules.map((rule) => [nameOf(rule), rule]));
}

export const putRule = (name, { text, etag, dryRun }) =>
    ask("PUT", rulePath(name), { body: text, etag, query: { dry_run: dryRun ? "true" : "" } });
/* Undoes all changes to it by the API: a rule that the file has stays, as the file has it. */
export const undoRule = (name, etag) =>
    ask("DELETE", rulePath(name), { etag, query: { undo: "true" } });
