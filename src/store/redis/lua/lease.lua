-- Settles a lease and takes the next one (docs/leases.md).
--
--   ARGV 3  the claim: its name in the state, capacity, window or token time, `f`: first_request
--        7  the lease to settle: its term (0: none), the start of its window (a bucket: 0)
--        9  how many units of it were spent, are kept, are given back
--       12  how many more are wanted, and how many of these are needed, all or none
--   reply   packed: now, known (2: only what was given back, of a window that is over), granted, the
--           term, the end, all units that are leased, and the state after settling and before
--           granting: a, b, c
local key, kind, capacity, span, extra =
  KEYS[1], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]
local term, window, spent, kept, back, want, need = tonumber(ARGV[7]), tonumber(ARGV[8]),
  tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11]), tonumber(ARGV[12]), tonumber(ARGV[13])
local a, b, c, x, y, z = 0, 0, 0, 0, 0, 0
local repair, how, fresh = false, 'set', nil
do
  --@read
end
local ends, recent, older = 0, 0, 0
if out then
  ends, recent, older = out[key][1], out[key][2], out[key][3]
else
  local stored = how ~= 'anew' and call('HMGET', key, 'lease_end', 'leased', 'leased_before') or {}
  if stored[1] then
    ends, recent, older = tonumber(stored[1]), tonumber(stored[2]), tonumber(stored[3])
  end
  --@terms
end

-- L6: a lease is settled whole or not at all, and only while its term holds that many.
local units, known, settled, room, till = spent + kept + back, term == 0, false, 0, now + 2000000
local late = false
if term > 0 and term == ends and units <= recent then
  recent, settled = recent - units, true
elseif term > 0 and term == ends - 1000000 and units <= older then
  older, settled = older - units, true
end
if settled then
  --@settle
  recent = known and recent + kept or recent
end
till = math.min(till, ends)
if how == 'anew' and need == 0 then
  want = 0 -- only a request may replace what another window or algorithm counts
end
--@room
local granted = math.max(math.min(want, (room - room % 8) / 8), need <= room and need or 0)
recent = recent + granted
if settled or granted > 0 or repair then
  if how == 'anew' then
    call('DEL', key)
  end
  local stored_end = recent + older > 0 and ends or 0
  --@lend
  --@expire
end
return struct.pack('<lllllllll', now, known and 1 or late and 2 or 0, granted, ends, till, recent + older, a, b, c)
