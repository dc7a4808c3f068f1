-- One request: all its claims read and decided, then all charged, or none.
--
--   ARGV 7  the longest delay, µs; -1: any
--        8  1: it is denied whatever they say, for want of an identity
--        9  claims, one after another:  algorithm, its name in the state, shadow, capacity,
--           window or token time, first_request, and with a guard its name in the state,
--           window, penalty, threshold; else an empty word
--   KEYS    of each claim its own, then its guard's
--   reply   now, allowed, and of each claim what was stored: with a guard window, count, warning
--           and block, then the algorithm's three numbers
local reply, at = { now, 0 }, 2
local keys, places, oks, repairs = {}, {}, {}, {}
local starts, debts, hows, olders = {}, {}, {}, {}
local guards, writes = {}, {}
local max_delay = tonumber(ARGV[7])
local p, k, n, allowed = 9, 1, 0, ARGV[8] == '0'
while twins[ARGV[p]] do
  n = n + 1
  local key, shadow, blocked = KEYS[k], ARGV[p + 2] == '1', 0
  local has_guard = ARGV[p + 6] ~= ''
  k = k + 1
  if has_guard then
    local a, b, c, d
    a, b, c, d, blocked, writes[n] = guard_open(KEYS[k], p + 6)
    reply[at + 1], reply[at + 2], reply[at + 3], reply[at + 4] = a, b, c, d
    at = at + 4
    guards[n] = KEYS[k]
    k = k + 1
  end
  local a, b, c, ok, repair, start, debt, how, older, delay = twins[ARGV[p]].open(key, p)
  reply[at + 1], reply[at + 2], reply[at + 3] = a, b, c
  at = at + 3
  if cost > 0 and max_delay >= 0 and (delay or 0) > max_delay then
    ok = false
  end
  if blocked > 0 and not shadow then
    ok = false
  end
  if not ok and not shadow then
    allowed = false
  end
  keys[n], places[n], oks[n], repairs[n] = key, p, ok, repair
  starts[n], debts[n], hows[n], olders[n] = start, debt, how, older
  p = p + (has_guard and 10 or 7)
end
