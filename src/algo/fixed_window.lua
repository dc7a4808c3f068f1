-- The Lua twin of fixed_window.c: a count that starts again when the window ends.
--
--   HGETALL rl:{acme}:api:u1
--   algorithm  fixed_window/60000000     another algorithm or window starts afresh
--   window     1700000040000000          its start, µs
--   count      17
--
-- Within a window only the count moves; the key's lifetime moves with the window.
--
--   a, b   as stored: start, count       x, y   as of now: start, count

---- read ----
local stored = pcall('HMGET', key, 'algorithm', 'window', 'count')
if stored[1] == kind then
  a, b = tonumber(stored[2]), tonumber(stored[3])
elseif stored.err or stored[1] then
  --@foreign
end
if b > 0 and a + span > now and a - now <= span then
  x, y = a, b -- it has begun, or the clock stepped back
  how = 'add'
else
  local first_request = extra == 'f' or extra == 'sf' or extra == '1'
  x = first_request and now or now - now % span
  if b > 0 and a > now then
    y, repair = capacity, true
  end
end

---- decide ----
ok = cost == 0 or y + cost <= capacity

---- charge ----
if how == 'add' then
  call('HINCRBY', key, 'count', amount)
else
  call('HSET', key, 'algorithm', kind, 'window', x, 'count', y + amount)
  fresh = x + span
end

---- refund ----
if not repair and y > 0 and charged_at >= x and charged_at < x + span then
  call('HINCRBY', key, 'count', -math.min(amount, y))
end

---- settle ----
if window == x and how == 'add' then
  y, known = math.max(y - back, 0), true
end

---- room ----
if how ~= 'add' and (extra == 'f' or extra == 'sf') then
  want = 0 -- no window is open, and a lease opens none
end
room, till = math.max(capacity - y, 0), math.min(till, x + span)
a, b = x, y

---- lend ----
call('HSET', key, 'algorithm', kind, 'window', x, 'count', y + granted, 'lease_end', stored_end,
     'leased', recent, 'leased_before', older)
if how ~= 'add' then
  fresh = x + span
end

---- overcharge ----
if repair then
  amount = nil
elseif how == 'add' then
  amount = math.min(amount, 4294967295 - y)
else
  amount = math.min(amount, 4294967295)
end
