-- The Lua twin of sliding_window_log.c: keeps the time of every admission, in a sorted set.
--
--   ZRANGE rl:{acme}:login:u1 0 -1 WITHSCORES
--   900000000:5f3a9c1e02d4b677   1700000000000000      window, a unique name; µs
--   900000000:5f3a9c1e02d4b678   1700000000120000
--
-- Two admissions in one microsecond have two names. Each name contains the window: a log that was
-- written under another window starts afresh.
--
--   a, b, c   as stored: the newest time, the number of live entries, the time of the entry that a
--             denied request waits for; -1: none    x   as of when    y   entries that repair it

---- read ----
local stored = pcall('ZRANGE', key, -1, -1, 'WITHSCORES') -- the newest
a, c = -1, -1
if stored[1] and string.sub(stored[1], 1, #kind) == kind then
  a, how = tonumber(stored[2]), 'add'
elseif stored.err or stored[1] then
  --@foreign
end
x = a > now and a or now
if a - now > span then
  x, b, y, repair, how = now, capacity, capacity, true, 'anew'
elseif a >= 0 then
  b = call('ZCOUNT', key, x - span + 1, '+inf')
end

---- decide ----
ok = cost == 0 or b + cost <= capacity
if not ok and cost <= capacity and not repair then
  local rank = capacity - cost + 1
  c = tonumber(call('ZRANGE', key, -rank, -rank, 'WITHSCORES')[2])
end

---- charge ----
if how == 'add' then
  call('ZREMRANGEBYSCORE', key, '-inf', x - span)
end
if amount + y == 1 then
  call('ZADD', key, x, kind .. nonce)
end
for first = 1, amount + y > 1 and amount + y or 0, 1000 do
  local entries = {}
  for i = first, math.min(first + 999, amount + y) do
    entries[#entries + 1] = x
    entries[#entries + 1] = kind .. nonce .. ':' .. i
  end
  call('ZADD', key, unpack(entries))
end
fresh = x + span
local before = a + span
if how == 'add' and b > 0 and fresh - fresh % 1000000 == before - before % 1000000 then
  fresh = nil -- a key's lifetime is in whole seconds, and ends with the last entry
end

---- refund ----
while not repair and amount > 0 and charged_at <= x and charged_at > x - span do
  local names = call('ZRANGEBYSCORE', key, charged_at, charged_at, 'LIMIT', 0,
                     math.min(amount, 1000))
  if #names == 0 then
    break
  end
  call('ZREM', key, unpack(names))
  amount = amount - #names
end

---- overcharge ----
-- Stops at as many entries as a ring would hold, which are one span of debt.
if repair then
  amount = nil
else
  amount = math.min(amount, tonumber(extra))
  if how == 'add' then
    call('ZREMRANGEBYRANK', key, 0, amount - tonumber(extra) - 1)
    b = 0 -- maybe
  end
end
