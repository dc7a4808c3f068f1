-- The beginning of every script: reads the store's clock, once.
--
--   ARGV 1  now, µs, in a replay; empty: this Redis' own clock
--        2  the deadline, in this Redis' time: later than that no caller waits for the reply any
--           more, and the script must not charge
--
-- Scripts compute only what a decision needs. What the caller is told besides (remaining, reset,
-- wait) is computed from the states in the reply, by the same C that decides in memory.
local ARGV, tonumber, call, pcall = ARGV, tonumber, redis.call, redis.pcall
local now, least, out = 0, 0, nil -- `out`: leased units, by key
if ARGV[1] == '' then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
  if now > tonumber(ARGV[2]) then
    return { now, -1 }
  end
else
  now, least = tonumber(ARGV[1]), 3600000 -- a replay's keys are inspected afterwards
end
