-- The Lua twin of sliding_window_counter.c: the current window's count, and the previous one's
-- weighted by how much of it a sliding window would still cover.
--
--   algorithm  sliding_window_counter/60000000
--   window     1700000040000000                  start of the current one, µs
--   previous   80
--   count      17
--
--   a, b, c   as stored: start, previous, count    x, z, y   as of now

---- read ----
local stored = pcall('HMGET', key, 'algorithm', 'window', 'previous', 'count')
if stored[1] == kind then
  a, b, c = tonumber(stored[2]), tonumber(stored[3]), tonumber(stored[4])
elseif stored.err or stored[1] then
  --@foreign
end
x = now - now % span
if b == 0 and c == 0 then
  z = 0
elseif a < x then
  z = x - a == span and c or 0
elseif a - now <= 2 * span then
  x, y, z, how = a, c, b, 'add' -- this window, or the clock stepped back
else
  y, z, repair = capacity, capacity, true
end

---- decide ----
if cost == 0 then
  ok = true
elseif z == 0 then
  ok = y + cost <= capacity
else
  local weight = 0
  --@weight
  ok = y + weight + cost <= capacity
end

---- weight ----
do
  -- ⌊previous·rest/length⌋. The product soon passes 2^53 (at 3,474 in 30 days). Then it is computed
  -- seven bits at a time, where rest·128 stays below 2^53.
  local rest = x < now and span - (now - x) or span
  local product = z * rest
  if product < 9007199254740992 then
    weight = (product - product % span) / span
  else
    local left = 0
    for shift = 28, 0, -7 do
      local part = left * 128 + math.floor(z / 2 ^ shift) % 128 * rest
      left = part % span
      weight = weight * 128 + (part - left) / span
    end
  end
end

---- charge ----
if how == 'add' then
  call('HINCRBY', key, 'count', amount)
else
  call('HSET', key, 'algorithm', kind, 'window', x, 'previous', z, 'count', y + amount)
  fresh = x + 2 * span
end

---- refund ----
local since = repair and -1 or x - (charged_at - charged_at % span)
if since == 0 and y > 0 then
  call('HSET', key, 'window', x, 'previous', z, 'count', y - math.min(amount, y))
elseif since == span and z > 0 then
  call('HSET', key, 'window', x, 'previous', z - math.min(amount, z), 'count', y)
  fresh = x + 2 * span
end

---- settle ----
if window == x and how == 'add' then
  y, known = math.max(y - back, 0), true
elseif window == x - span then -- over: the units kept may have been spent before its end
  z, late = math.max(z - back, 0), true
end

---- room ----
local weight = 0
--@weight
room, till = math.max(capacity - y - weight, 0), math.min(till, x + span)
a, b, c = x, z, y

---- lend ----
call('HSET', key, 'algorithm', kind, 'window', x, 'previous', z, 'count', y + granted,
     'lease_end', stored_end, 'leased', recent, 'leased_before', older)
if how ~= 'add' then
  fresh = x + 2 * span
end

---- overcharge ----
-- Stops at twice the limit, whose weight falls to the limit within the next window.
local most = math.min(2 * capacity, tonumber(extra))
amount = math.max(y, math.min(y + amount, most)) - y
if repair then
  amount = nil
end
