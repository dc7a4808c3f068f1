-- What every script begins with: the store's clock, read once, and how long a key lives.
--
--   ARGV 1  now, µs: -1 is this Redis' own, else a replay's
--        2  by when, in this Redis' time: later than that nobody waits for the answer any more,
--           and a charge would be a ghost's; 0: whenever
--        3  the least lifetime of a key, ms
--        4  a name that nobody else gives, for entries of a log
--
-- Only what a decision needs is here: what people are told (remaining, reset, wait) is worked
-- out from the states of the reply, by the same C that decides in memory.
local now, late = tonumber(ARGV[1]), false
if now < 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
  local deadline = tonumber(ARGV[2])
  late = deadline > 0 and now > deadline
end
if late then
  return { now, -1 }
end

local nonce = ARGV[4]
local twins = {}

-- Until it is fresh, and a minute.
local function live(key, fresh)
  redis.call('PEXPIRE', key,
             math.max(math.ceil((fresh - now) / 1000) + 60000, tonumber(ARGV[3])))
end

-- A key of another type is another algorithm's. Anything else that went wrong stays wrong.
local function foreign(wrong)
  if string.find(wrong, 'WRONGTYPE', 1, true) then
    return true
  end
  error(wrong)
end
