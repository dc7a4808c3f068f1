-- Takes a reservation out: one caller gets its fields, every other one nothing.
--
--   ARGV 3  its number     4  `due`: only if its end has come; `held`: only if it has not
--   KEYS    the reservation, the queue
local fields = call('HGETALL', KEYS[1])
local ends = 0
for i = 1, #fields, 2 do
  if fields[i] == 'expires' then
    ends = tonumber(fields[i + 1])
  end
end
if (ARGV[4] == 'due') ~= (ends <= now) then
  return {}
end
call('DEL', KEYS[1])
call('ZREM', KEYS[2], ARGV[3])
return fields
