-- Changes states without a decision: refunds, or charges what was already used.
--
--   ARGV 3  a unique name, for the entries of a log
--        4  claims, one after another: algorithm, its name in the state, capacity, window or
--           token time, extra (the most that a state can hold; a fixed window: 1 is
--           first_request), `refund` or `overcharge`, cost, charged at
--   KEYS    one key for each claim
local nonce = ARGV[3]
--@functions
for k = 1, #KEYS do
  local p, key = 8 * k - 4, KEYS[k]
  local name, kind, extra, what = ARGV[p], ARGV[p + 1], ARGV[p + 4], ARGV[p + 5]
  local capacity, span = tonumber(ARGV[p + 2]), tonumber(ARGV[p + 3])
  local amount, charged_at, fresh = tonumber(ARGV[p + 6]), tonumber(ARGV[p + 7]), nil
  local a, b, c, x, y, z = 0, 0, 0, 0, 0, 0
  local repair, how = false, 'set'
  --@read
  if how == 'anew' then
    what = '' -- another window or algorithm counts there now: the charge is gone
  end
  if what == 'refund' then
    --@refund
  elseif what == 'overcharge' then
    --@overcharge
    if amount then
      --@charge
    end
  end
  --@expire
end
return { now, 1 }
