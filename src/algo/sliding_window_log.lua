-- The twin of sliding_window_log.c: every admission's time, in a sorted set.
--
--   ZRANGE rl:{acme}:login:u1 0 -1 WITHSCORES
--   900000000:5f3a9c1e02d4b677   1700000000000000      window, a name of its own; µs
--   900000000:5f3a9c1e02d4b678   1700000000120000
--
-- Two admissions of one microsecond have two names. The window stands in each: what was logged
-- under another starts afresh.

-- The newest entry's time (-1: there is none), and whether the key is another algorithm's or another window's.
local function log_newest(key, p)
  local newest = redis.pcall('ZRANGE', key, -1, -1, 'WITHSCORES')
  if newest.err then
    return -1, foreign(newest.err)
  end
  if not newest[1] then
    return -1, false
  end
  local window = ARGV[p + 1]
  if string.sub(newest[1], 1, #window) ~= window then
    return -1, true
  end
  return tonumber(newest[2]), false
end

-- Adds entries, a thousand a call.
local function log_add(key, p, amount, at)
  local name = ARGV[p + 1] .. nonce
  if amount == 1 then
    redis.call('ZADD', key, at, name)
  end
  for first = 1, amount > 1 and amount or 0, 1000 do
    local entries = {}
    for i = first, math.min(first + 999, amount) do
      entries[#entries + 1] = at
      entries[#entries + 1] = name .. ':' .. i
    end
    redis.call('ZADD', key, unpack(entries))
  end
end

twins.sliding_window_log = {
  open = function(key, p)
    local newest, other = log_newest(key, p)
    local capacity, length = tonumber(ARGV[p + 3]), tonumber(ARGV[p + 4])
    if newest - now > length then
      return newest, capacity, -1, cost == 0, true, now, capacity, 'anew'
    end
    local at = math.max(now, newest)
    local count = 0
    if newest >= 0 then
      count = redis.call('ZCOUNT', key, at - length + 1, '+inf')
    end
    local allowed = cost == 0 or count + cost <= capacity
    local blocking = -1
    if not allowed and cost <= capacity then
      local rank = capacity - cost + 1
      blocking = tonumber(redis.call('ZRANGE', key, -rank, -rank, 'WITHSCORES')[2])
    end
    return newest, count, blocking, allowed, false, at, 0,
           other and 'anew' or newest >= 0 and 'prune' or 'add'
  end,

  -- `full` entries repair it.
  charge = function(key, p, amount, at, full, how)
    local length = tonumber(ARGV[p + 4])
    if how == 'anew' then
      redis.call('DEL', key)
    elseif how == 'prune' then
      redis.call('ZREMRANGEBYSCORE', key, '-inf', at - length)
    end
    log_add(key, p, amount + full, at)
    live(key, at + length)
  end,

  ---- changing ----

  refund = function(key, p, amount, charged_at)
    local newest, other = log_newest(key, p)
    local length = tonumber(ARGV[p + 4])
    local at = math.max(now, newest)
    if other or newest - now > length or charged_at > at or charged_at <= at - length then
      return
    end
    while amount > 0 do
      local names = redis.call('ZRANGEBYSCORE', key, charged_at, charged_at, 'LIMIT', 0,
                               math.min(amount, 1000))
      if #names == 0 then
        return
      end
      redis.call('ZREM', key, unpack(names))
      amount = amount - #names
    end
  end,

  -- As many as a ring would hold are a span of debt.
  overcharge = function(key, p, amount)
    local newest, other = log_newest(key, p)
    local length, most = tonumber(ARGV[p + 4]), tonumber(ARGV[p + 5])
    local at = math.max(now, newest)
    if newest - now > length then
      return
    end
    if other then
      redis.call('DEL', key)
    end
    log_add(key, p, math.min(amount, most), at)
    redis.call('ZREMRANGEBYRANK', key, 0, -most - 1)
    live(key, at + length)
  end,
  ---- changing ends ----
}
