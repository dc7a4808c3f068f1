-- The action `lua.sluice ADDRESS`: asks Sluice at that address about this request, and stores
-- the answer in variables. haproxy.cfg acts on them.
--
--   txn.sluice_status   200, the rules' deny_status (429), another one; 0: Sluice is away
--   txn.sluice_body     the decision as JSON, if it was denied
--   txn.sluice_…        one for each field of FIELDS that came
--
-- ADDRESS is the `listen sluice` of haproxy.cfg and not Sluice itself. HAProxy's HTTP
-- client tries four times, a second apart, and each try is charged; it also turns a refused
-- connection into a 503 of its own, which looks like an answer. A section of the configuration
-- can correct both: there, no answer becomes X-Sluice-Away. Only that is status 0, so that a
-- client that makes the call itself fail (by a field that is too long, say) is not let through.

local TIMEOUT_MS = 5000 -- never reached: those of `listen sluice` are shorter

local FIELDS = {
    "ratelimit", "ratelimit-policy", "retry-after",
    "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset",
}

-- Only these fields reach Sluice: none of the client's, so it can forge none. `src` is the peer
-- that connected to HAProxy; behind another proxy, use `http-request set-src` first, so that it
-- is the client.
local function request_fields(txn)
    return {
        ["x-forwarded-method"] = { txn.f:method() },
        ["x-forwarded-uri"] = { txn.f:pathq() },
        ["x-forwarded-for"] = { txn.f:src() },
        -- `identity.headers: { user: X-User }` in the rules, from what HAProxy has
        -- verified itself and never from the client's field of that name:
        -- ["x-user"] = { txn:get_var("txn.user") },
    }
end

local function sluice(txn, address)
    local answer = core.httpclient():get({
        url = "http://sluice/v1/authorize",
        dst = address,
        headers = request_fields(txn),
        timeout = TIMEOUT_MS,
    })
    local fields = answer.headers or {}
    local status = fields["x-sluice-away"] and 0 or answer.status or 500
    txn:set_var("txn.sluice_status", status)
    txn:set_var("txn.sluice_body", answer.body or "")
    for _, name in ipairs(FIELDS) do
        if fields[name] then
            txn:set_var("txn.sluice_" .. name:gsub("-", "_"), fields[name][0])
        end
    end
end

core.register_action("sluice", { "http-req" }, sluice, 1)
