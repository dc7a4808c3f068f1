-- Writes a change: all of its rows, or none.
--
--   ARGV 3  the epoch     4  the log's name     5  its last change; `*`: any
--        6  the other log's name     7  its last change; `*`: any
--        8  this change     9  how many marks are kept
--        10 how many bytes the log may have, of names and values; 0: no limit
--        then of each row: its name, the change that it has now (`*`: any), its value
--   KEYS    the state; rows, order, marks and deleted rows of the log
--
-- A value is its change, 16 digits, a space and JSON; of a deleted row the digits alone. If bytes
-- are limited, a change that makes the log smaller is still taken, however large the log is.
local log = ARGV[4]
local state = call('HMGET', KEYS[1], 'epoch', log, log .. '_last', ARGV[6] .. '_last', log .. '_bytes')
if state[1] ~= ARGV[3] then
  return { now, 0, 0, 0, 'epoch' }
end
local before = state[3] or ''
if (ARGV[5] ~= '*' and before ~= ARGV[5]) or (ARGV[7] ~= '*' and (state[4] or '') ~= ARGV[7]) then
  return { now, 0, 0, 0, 'conflict' }
end
local has = call('ZCARD', KEYS[3])
if has ~= call('HLEN', KEYS[2]) or (has == 0 and tonumber(state[2] or 0) > 0) then
  return { now, 0, 0, 0, 'damaged' }
end
local most, bytes, more = tonumber(ARGV[10]), tonumber(state[5] or 0), 0
if most > 0 and not state[5] then -- written by an older Sluice
  for _, name in ipairs(call('ZRANGE', KEYS[3], 0, -1)) do
    bytes = bytes + #name + #(call('HMGET', KEYS[2], name)[1] or '')
  end
end
for i = 11, #ARGV, 3 do
  if ARGV[i + 1] ~= '*' or most > 0 then
    local value = call('HMGET', KEYS[2], ARGV[i])[1]
    if ARGV[i + 1] ~= '*' and string.sub(value or '', 1, 16) ~= ARGV[i + 1] then
      return { now, 0, 0, 0, 'conflict' }
    end
    more = more + #ARGV[i + 2] - (value and #value or -#ARGV[i])
  end
end
if most > 0 and more > 0 and bytes + more > most then
  return { now, 0, 0, 0, 'full' }
end
bytes = bytes + more
local version = tonumber(state[2] or 0)
for i = 11, #ARGV, 3 do
  version = version + 1
  call('HSET', KEYS[2], ARGV[i], ARGV[i + 2])
  call('ZADD', KEYS[3], version, ARGV[i])
  if #ARGV[i + 2] == 16 then
    call('ZADD', KEYS[5], version, ARGV[i])
  else
    call('ZREM', KEYS[5], ARGV[i])
  end
end
call('ZADD', KEYS[4], version, ARGV[8])
call('HSET', KEYS[1], log, version, log .. '_last', ARGV[8])
if string.sub(ARGV[3], 1, 1) == '~' then
  call('HSET', KEYS[1], 'filled_by', now + 5000000)
end
-- Drops the oldest marks. An instance that knows no later change fetches everything again, and only
-- such an instance could still need the rows that were deleted before: they go too.
local extra = call('ZCARD', KEYS[4]) - tonumber(ARGV[9])
if extra > 0 then
  local oldest = call('ZRANGE', KEYS[4], extra - 1, extra - 1, 'WITHSCORES')[2]
  call('ZREMRANGEBYRANK', KEYS[4], 0, extra - 1)
  for _, name in ipairs(call('ZRANGEBYSCORE', KEYS[5], '-inf', oldest, 'LIMIT', 0, 100)) do
    bytes = bytes - #name - 16
    call('HDEL', KEYS[2], name)
    call('ZREM', KEYS[3], name)
    call('ZREM', KEYS[5], name)
  end
end
if most > 0 then
  call('HSET', KEYS[1], log .. '_bytes', bytes)
end
return { now, version, 0, 0, 'done', before }
