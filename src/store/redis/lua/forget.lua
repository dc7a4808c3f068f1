-- Deletes a claim's state and its guard's. What is leased stays counted, because the instance that
-- holds the lease goes on spending it (docs/leases.md, L9).
--
--   ARGV 3  capacity     KEYS  the state, the guard if there is one
local key, repair = KEYS[1], nil
local stored = pcall('HMGET', key, 'lease_end', 'leased', 'leased_before', 'algorithm', 'window',
                     'previous')
if KEYS[2] then
  call('DEL', KEYS[2])
end
local counted = 0
if not stored.err and stored[1] and stored[1] ~= '0' then
  local ends, recent, older = tonumber(stored[1]), tonumber(stored[2]), tonumber(stored[3])
  --@terms
  counted = recent + older
  local length, window = tonumber(string.match(stored[4], '/(%d+)')), tonumber(stored[5])
  if counted > 0 and not length then
    call('HSET', key, 'debt_ns', 0, 'last_refill', now, 'tokens',
         math.max(tonumber(ARGV[3]) - counted, 0), 'lease_end', ends, 'leased', recent,
         'leased_before', older)
  elseif counted > 0 and window + length > now then
    if window - now > (stored[6] and 2 or 1) * length then
      window = now - now % length -- the clock stepped back
    end
    call('HSET', key, 'window', window, 'count', counted, 'lease_end', ends, 'leased', recent,
         'leased_before', older)
    if stored[6] then
      call('HSET', key, 'previous', 0)
    end
  else
    counted = 0
  end
end
if counted == 0 then
  call('DEL', key)
end
return { now, 1 }
