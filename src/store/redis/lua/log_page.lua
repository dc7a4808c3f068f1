-- Reads the next rows of a log, in the order in which they were changed.
--
--   ARGV 3  the epoch     4  the log's name     5  a change that the caller knows, or empty
--        6  the version to go on from     7, 8  the most rows, and the most bytes
--   KEYS    the state; rows, order and marks of the log
--
-- A change that is not among the marks belongs to another history, or is too old: rows that were
-- deleted since then may be gone without a trace.
local log = ARGV[4]
local state = call('HMGET', KEYS[1], 'epoch', log, log .. '_last')
if state[1] ~= ARGV[3] then
  return { now, 0, 0, 0, 'epoch' }
end
if ARGV[5] ~= '' and not call('ZSCORE', KEYS[4], ARGV[5]) then
  return { now, 0, 0, 0, 'afresh' }
end
if call('ZCARD', KEYS[3]) ~= call('HLEN', KEYS[2]) then
  return { now, 0, 0, 0, 'damaged' }
end
local most, room = tonumber(ARGV[7]), tonumber(ARGV[8])
local names = call('ZRANGEBYSCORE', KEYS[3], '(' .. ARGV[6], '+inf', 'WITHSCORES', 'LIMIT', 0, most)
local version = tonumber(state[2] or 0)
if #names == 0 and tonumber(ARGV[6]) < version then
  return { now, 0, 0, 0, 'damaged' } -- the last change is always in the order
end
local out = { now, version, tonumber(ARGV[6]), 0, 'rows', state[3] or '' }
for i = 1, #names, 2 do
  local value = call('HMGET', KEYS[2], names[i])[1]
  if not value then
    return { now, 0, 0, 0, 'damaged' }
  end
  room = room - #names[i] - #value
  if room < 0 and i > 1 then
    out[4] = 1 -- more follow; a large row is sent alone
    break
  end
  out[3] = tonumber(names[i + 1])
  out[#out + 1] = names[i]
  out[#out + 1] = value
end
if #names == 2 * most then
  out[4] = 1
end
return out
