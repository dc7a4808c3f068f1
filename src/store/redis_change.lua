-- Changes that are no decisions: giving back, or charging what was used already.
--
--   ARGV 5  claims, one after another:  algorithm, its name in the state, `refund` or
--           `overcharge`, capacity, window or token time, the most that a state can hold
--           (a fixed window: first_request), cost, charged at
--   KEYS    of each claim
local p = 5
for k = 1, #KEYS do
  local change = twins[ARGV[p]][ARGV[p + 2]]
  change(KEYS[k], p, tonumber(ARGV[p + 6]), tonumber(ARGV[p + 7]))
  p = p + 8
end
return { now, 1 }
