-- Decides a request with one claim and no guard, without a loop: most requests are like that.
--
--   ARGV 3  cost   4  `p`: a peek, `d`: denied in any case, `pd`: both; or empty
--        5  the longest delay, µs; empty: any   6  a unique name, for the entry of a log
--        7  the claim: its name in the state, capacity, window or token time,
--           `s`: shadow, `f`: first_request, `sf`: both
--   reply   packed: now, allowed, what was stored: a, b, c
local cost, mode, max_delay, nonce = tonumber(ARGV[3]), ARGV[4], ARGV[5], ARGV[6]
local key, kind, capacity, span, extra =
  KEYS[1], ARGV[7], tonumber(ARGV[8]), tonumber(ARGV[9]), ARGV[10]
local a, b, c, x, y, z = 0, 0, 0, 0, 0, 0
local ok, repair, how, amount, fresh = false, false, 'set', false, nil
do
  --@read
end
do
  --@decide
end
local allowed, peek = ok, false
if mode ~= '' or not ok then
  peek = mode == 'p' or mode == 'pd'
  allowed = mode ~= 'd' and mode ~= 'pd' and (ok or extra == 's' or extra == 'sf')
end
if allowed and ok and cost > 0 and not peek then
  amount = cost
elseif repair and not peek then
  amount = 0
end
if amount then
  if how == 'anew' then
    call('DEL', key)
  end
  --@charge
  --@expire
end
return struct.pack('<lllll', now, allowed and 1 or 0, a, b, c)
