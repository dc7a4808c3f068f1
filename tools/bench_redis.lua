-- What nginx runs where tools/bench_redis.py sets it beside Sluice on Redis: token buckets as
-- one would write them with lua-resty-redis, in two ways.
--
--   ask_script    one atomic script per request (EVALSHA), Redis' clock, every rule or none
--   ask_naive     HMGET, then HMSET and EXPIRE, with this machine's clock. It races: two requests
--                 that read the same tokens both spend them. And it has one rule only.
--
-- Both keep connections in a pool, write nothing on a denial, and say what is left in the same
-- X-RateLimit fields. The answer has no body, but for nginx's page with a 429.

local redis = require "nginx.redis"

local M = {}

local POOL, IDLE_MS, TIMEOUT_MS = 256, 60000, 1000

-- KEYS[1]; ARGV: capacity, tokens a second. Gives allowed, tokens left, seconds until full,
-- seconds until there is one.
local ONE = [[
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local capacity, rate = tonumber(ARGV[1]), tonumber(ARGV[2])
local kept = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = capacity
if kept[1] then
   tokens = math.min(capacity, kept[1] + math.max(0, now - kept[2]) * rate)
end
if tokens < 1 then
   return { 0, 0, math.ceil((capacity - tokens) / rate), math.ceil((1 - tokens) / rate) }
end
tokens = tokens - 1
redis.call('HMSET', KEYS[1], 'tokens', tokens, 'at', now)
redis.call('PEXPIRE', KEYS[1], math.ceil(capacity / rate * 2000))
return { 1, math.floor(tokens), math.ceil((capacity - tokens) / rate), 0 }
]]

-- The same for as many keys as there are, each with a capacity and a rate: all are charged, or
-- none. The figures are those of the key that has least left, or that denies longest; with them,
-- as the fifth, goes its number.
local SEVERAL = [[
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local all, least, longest = {}, nil, nil
for i, key in ipairs(KEYS) do
   local capacity, rate = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
   local kept = redis.call('HMGET', key, 'tokens', 'at')
   local tokens = capacity
   if kept[1] then
      tokens = math.min(capacity, kept[1] + math.max(0, now - kept[2]) * rate)
   end
   all[i] = tokens
   if tokens < 1 and (not longest or (1 - tokens) / rate > longest) then
      least, longest = i, (1 - tokens) / rate
   elseif not longest and (not least or tokens < all[least]) then
      least = i
   end
end
local capacity, rate = tonumber(ARGV[2 * least - 1]), tonumber(ARGV[2 * least])
if longest then
   return { 0, 0, math.ceil((capacity - all[least]) / rate), math.ceil(longest), least }
end
for i, key in ipairs(KEYS) do
   redis.call('HMSET', key, 'tokens', all[i] - 1, 'at', now)
   redis.call('PEXPIRE', key, math.ceil(ARGV[2 * i - 1] / ARGV[2 * i] * 2000))
end
local tokens = all[least] - 1
return { 1, math.floor(tokens), math.ceil((capacity - tokens) / rate), 0, least }
]]

-- What a rule counts by.
local IDENTIFIERS = {
   user = function(var)
      return var.http_x_user
   end,
   tenant = function(var)
      return var.http_x_tenant
   end,
   tenant_user = function(var)
      return var.http_x_tenant .. ":" .. var.http_x_user
   end,
   ip = function(var)
      return var.http_x_forwarded_for
   end,
}

local port, rules, script, sha

-- In nginx's master, before there are workers. A rule is { per, capacity, refill_rate }.
function M.configure(redis_port, all_rules)
   port, rules = redis_port, all_rules
   script = #rules == 1 and ONE or SEVERAL
end

local function fail(why)
   ngx.log(ngx.ERR, why)
   return ngx.exit(503)
end

local function connect()
   local conn = redis:new()
   conn:set_timeout(TIMEOUT_MS)
   local ok, why = conn:connect("127.0.0.1", port)
   return ok and conn, why
end

local function answer(rule, said)
   local header = ngx.header
   header["X-RateLimit-Limit"] = rule[2]
   header["X-RateLimit-Remaining"] = said[2]
   header["X-RateLimit-Reset"] = ngx.time() + said[3]
   if said[1] == 0 then
      header["Retry-After"] = said[4]
      return ngx.exit(429)
   end
   header["Content-Length"] = 0
   return ngx.exit(200)
end

local function key_of(rule)
   return "rl:" .. rule[1] .. ":" .. IDENTIFIERS[rule[1]](ngx.var)
end

-- By unpack() where there is but one rule, too: LuaJIT compiles the plain call again and again, and
-- nginx takes nearly twice as long for a request.
local function run(conn)
   local words, keys = {}, #rules
   for i = 1, keys do
      local rule = rules[i]
      words[i] = key_of(rule)
      words[keys + 2 * i - 1], words[keys + 2 * i] = rule[2], rule[3]
   end
   return conn:evalsha(sha, keys, unpack(words))
end

-- Once for each worker, and again after SCRIPT FLUSH.
local function load_script(conn)
   local loaded, why = conn:script("load", script)
   sha = loaded or sha
   return loaded, why
end

function M.ask_script()
   local conn, why = connect()
   if not conn then
      return fail(why)
   end
   local said
   if sha then
      said, why = run(conn)
   end
   if not sha or (not said and why:find("NOSCRIPT", 1, true)) then
      said, why = load_script(conn)
      if said then
         said, why = run(conn)
      end
   end
   if not said then
      return fail(why)
   end
   conn:set_keepalive(IDLE_MS, POOL)
   return answer(rules[said[5] or 1], said)
end

function M.ask_naive()
   local rule = rules[1]
   local capacity, rate = rule[2], rule[3]
   local key = key_of(rule)
   local conn, why = connect()
   if not conn then
      return fail(why)
   end
   local kept
   kept, why = conn:hmget(key, "tokens", "at")
   if not kept then
      return fail(why)
   end
   local now, tokens = ngx.now(), capacity
   if kept[1] ~= ngx.null then
      tokens = math.min(capacity, kept[1] + math.max(0, now - kept[2]) * rate)
   end
   local allowed = tokens >= 1
   if allowed then
      tokens = tokens - 1
      local ok
      ok, why = conn:hmset(key, "tokens", tokens, "at", now)
      if ok then
         ok, why = conn:expire(key, math.ceil(capacity / rate * 2))
      end
      if not ok then
         return fail(why)
      end
   end
   conn:set_keepalive(IDLE_MS, POOL)
   return answer(rule, { allowed and 1 or 0, math.floor(tokens),
                         math.ceil((capacity - tokens) / rate), math.ceil((1 - tokens) / rate) })
end

return M
