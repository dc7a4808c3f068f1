-- Founds the registry if there is none: the instance with the newest copy fills it, then opens it.
--
--   ARGV 3  the instance     4  how new its copy is     5  `bid`, or `open` when it is filled
--   KEYS    the state; all keys of both logs
--
-- Bids are taken for 1.5 s from the first one on, long enough for all instances: they look four
-- times a second, or try to connect every 0.5 s. A winner that does not come back, or stops while
-- it fills, is passed over.
local state = call('HMGET', KEYS[1], 'epoch', 'filled_by', 'bid', 'bidder', 'bids_end')
local epoch, filling = state[1] or '', '~' .. ARGV[3]
if ARGV[5] == 'open' then
  if epoch ~= filling then
    return { now, 0, 0, 0, 'taken' }
  end
  call('HSET', KEYS[1], 'epoch', ARGV[3])
  call('HDEL', KEYS[1], 'filled_by')
  return { now, 0, 0, 0, 'opened' }
end
local is_filling = string.sub(epoch, 1, 1) == '~' and now <= tonumber(state[2] or 0)
if epoch ~= '' and (is_filling or string.sub(epoch, 1, 1) ~= '~') then
  return { now, 0, 0, 0, 'taken' }
end
local bid, bidder, ends = state[3], state[4], tonumber(state[5] or 0)
if not bid or now > ends + 3000000 then
  bid, ends = false, now + 1500000
end
if not bid or tonumber(ARGV[4]) > tonumber(bid) then
  bid, bidder = ARGV[4], ARGV[3]
end
if now < ends or bidder ~= ARGV[3] then
  call('HSET', KEYS[1], 'bid', bid, 'bidder', bidder, 'bids_end', ends)
  return { now, 0, 0, 0, 'wait' }
end
call('DEL', unpack(KEYS))
call('HSET', KEYS[1], 'epoch', filling, 'filled_by', now + 5000000)
return { now, 0, 0, 0, 'granted' }
