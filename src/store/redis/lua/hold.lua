-- Makes a reservation of what is charged, in the same script. Behind the claims:
--   ARGV p + 1  its lifetime, µs   p + 2  the most reservations there may be   p + 3  its number
--        p + 4  a description of each claim, for its settlement
--   KEYS        last: the reservation, and the queue of all by expiry
if allowed and counts then
  local held, queue = KEYS[k], KEYS[k + 1]
  if call('ZCARD', queue) >= tonumber(ARGV[p + 2]) then
    return { now, -2 }
  end
  local ends = now + tonumber(ARGV[p + 1])
  local life = math.ceil((ends - now) / 1000) + 60000
  local fields = { 'cost', ARGV[3], 'expires', ends }
  for i = 1, s, 13 do
    if kept[i + 2] then
      local number = (i + 12) / 13
      fields[#fields + 1] = 'claim' .. number
      fields[#fields + 1] = ARGV[p + 3 + number]
      fields[#fields + 1] = 'charged' .. number
      fields[#fields + 1] = math.max(now, kept[i + 5])
    end
  end
  call('HSET', held, unpack(fields))
  call('PEXPIRE', held, life)
  call('ZADD', queue, ends, ARGV[p + 3])
  if call('PTTL', queue) < life then
    call('PEXPIRE', queue, life)
  end
end
