-- A change: all of its rows, or none.
--
--   ARGV 3  the epoch     4  the log's name     5  its last change, `*`: whichever
--        6  the other log's name     7  its last change, `*`: whichever
--        8  this change     9  how many marks are kept
--        then of each row: its name, the change that it has now (`*`: whichever), its value
--   KEYS    the state; rows, order, marks and gone rows of the log
--
-- A value is its change, 16 digits, a space and JSON; of a row that is deleted the digits alone.
local log = ARGV[4]
local state = call('HMGET', KEYS[1], 'epoch', log, log .. '_last', ARGV[6] .. '_last')
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
for i = 10, #ARGV, 3 do
  if ARGV[i + 1] ~= '*' then
    local value = call('HMGET', KEYS[2], ARGV[i])[1] or ''
    if string.sub(value, 1, 16) ~= ARGV[i + 1] then
      return { now, 0, 0, 0, 'conflict' }
    end
  end
end
local version = tonumber(state[2] or 0)
for i = 10, #ARGV, 3 do
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
-- Whoever knows no later change than those that go here fetches everything: for nobody else are
-- the rows that were deleted before.
local extra = call('ZCARD', KEYS[4]) - tonumber(ARGV[9])
if extra > 0 then
  local oldest = call('ZRANGE', KEYS[4], extra - 1, extra - 1, 'WITHSCORES')[2]
  call('ZREMRANGEBYRANK', KEYS[4], 0, extra - 1)
  for _, name in ipairs(call('ZRANGEBYSCORE', KEYS[5], '-inf', oldest, 'LIMIT', 0, 100)) do
    call('HDEL', KEYS[2], name)
    call('ZREM', KEYS[3], name)
    call('ZREM', KEYS[5], name)
  end
end
return { now, version, 0, 0, 'done', before }
