-- What every script begins with: the store's clock, read once.
--
--   ARGV 1  now, µs, of a replay; nothing: this Redis' own
--        2  by when, in this Redis' time: later than that nobody waits for the answer any more,
--           and a charge would be a ghost's
--
-- Only what a decision needs is here: what people are told (remaining, reset, wait) is worked
-- out from the states of the reply, by the same C that decides in memory.
local ARGV, tonumber, call, pcall = ARGV, tonumber, redis.call, redis.pcall
local now, least, out = 0, 0, nil -- `out`: what is leased, by its key
if ARGV[1] == '' then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
  if now > tonumber(ARGV[2]) then
    return { now, -1 }
  end
else
  now, least = tonumber(ARGV[1]), 3600000 -- a replay's keys are looked at afterwards
end
