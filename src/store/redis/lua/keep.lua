-- Makes a reservation of what was charged before, in other slots of a cluster.
--
--   ARGV 3  its lifetime, µs   4  the most reservations there may be   5  its number   6  cost
--        7  of each claim a description, for its settlement, and when it was charged
--   KEYS    the reservation, and the queue of its shard by expiry
local held, queue = KEYS[1], KEYS[2]
if call('ZCARD', queue) >= tonumber(ARGV[4]) then
  return { now, -2 }
end
local ends = now + tonumber(ARGV[3])
local life = math.ceil((ends - now) / 1000) + 60000
local fields = { 'cost', ARGV[6], 'expires', ends }
for i = 7, #ARGV, 2 do
  local number = (i - 5) / 2
  fields[#fields + 1] = 'claim' .. number
  fields[#fields + 1] = ARGV[i]
  fields[#fields + 1] = 'charged' .. number
  fields[#fields + 1] = ARGV[i + 1]
end
call('HSET', held, unpack(fields))
call('PEXPIRE', held, life)
call('ZADD', queue, ends, ARGV[5])
if call('PTTL', queue) < life then
  call('PEXPIRE', queue, life)
end
return { now, 1 }
