-- What is charged becomes a reservation, in the same script. Behind the claims:
--   ARGV p + 1  how long, µs     p + 2  the most there may be     p + 3  its number
--        p + 4  a description of each claim, for who settles it
--   KEYS        last: the reservation, and the queue of all by their end
if allowed and counts then
  local held, queue = KEYS[k], KEYS[k + 1]
  if redis.call('ZCARD', queue) >= tonumber(ARGV[p + 2]) then
    return { now, -2 }
  end
  local ends = now + tonumber(ARGV[p + 1])
  local fields = { 'cost', ARGV[5], 'expires', ends }
  for i = 1, n do
    if oks[i] then
      fields[#fields + 1] = 'claim' .. i
      fields[#fields + 1] = ARGV[p + 3 + i]
      fields[#fields + 1] = 'charged' .. i
      fields[#fields + 1] = math.max(now, starts[i])
    end
  end
  redis.call('HSET', held, unpack(fields))
  live(held, ends)
  redis.call('ZADD', queue, ends, ARGV[p + 3])
  if redis.call('PTTL', queue) < (ends - now) / 1000 + 60000 then
    live(queue, ends)
  end
end
