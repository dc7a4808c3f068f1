-- The Lua twin of guard.c: counts requests in short windows. Over the threshold it warns, and it
-- blocks a client that exceeds it again in a later window.
--
--   HGETALL rl:{acme}:api~guard:u1
--   guard          10000000/300000000/400     window, penalty, threshold: others start afresh
--   window         1700000040000000           start of the one that counts, µs
--   count          17
--   warned_until   0
--   blocked_until  0

---- function ----
-- Returns the start and count of the window that counts, the warning's end (0: none in force), and
-- the time to judge as of.
local function guard_view(g, start, count, warned)
  local length, penalty = tonumber(ARGV[g + 1]), tonumber(ARGV[g + 2])
  local aligned = now - now % length
  if start - now > length then
    start, count = aligned, tonumber(ARGV[g + 3])
  elseif start < aligned then
    start, count = aligned, 0
  end
  local as_of = math.max(start, now)
  if warned <= as_of then
    warned = 0
  elseif warned - as_of > penalty then
    warned = as_of + penalty
  end
  return start, count, warned, as_of
end

local function guard_read(key, g)
  local stored = pcall('HMGET', key, 'guard', 'window', 'count', 'warned_until', 'blocked_until')
  if stored.err then
    local how
    --@foreign
    return 0, 0, 0, 0, how
  end
  if stored[1] == ARGV[g] then
    return tonumber(stored[2]), tonumber(stored[3]), tonumber(stored[4]), tonumber(stored[5]),
           false
  end
  return 0, 0, 0, 0, stored[1]
end

-- Returns the stored numbers; the end of the block in force after this request (0: none); and what
-- to write: nil for nothing, `true` to add one to the count, or a table of all fields.
local function guard_open(key, g)
  local start, count, warned, blocked, other = guard_read(key, g)
  local penalty = tonumber(ARGV[g + 2])
  if blocked > now then
    local most = math.min(blocked, now + 2 * penalty)
    local write = counts and most < blocked and { 0, 0, 0, most } or nil
    return start, count, warned, blocked, most, write
  end
  if not counts then
    return start, count, warned, blocked, 0, nil
  end
  local from, seen, warning, as_of
  if blocked > 0 then
    from, seen, warning, as_of = guard_view(g, 0, 0, 0)
  else
    from, seen, warning, as_of = guard_view(g, start, count, warned)
  end
  seen = seen + 1
  local block = 0
  if seen > tonumber(ARGV[g + 3]) then
    local length = tonumber(ARGV[g + 1])
    if warning == 0 then
      warning = as_of + penalty
    else
      local given = warning - penalty
      if from ~= given - given % length then
        block = now + 2 * penalty
      end
    end
  end
  if block > 0 then
    return start, count, warned, blocked, block, { 0, 0, 0, block, other }
  end
  if not other and from == start and count > 0 and warning == warned and blocked == 0 then
    return start, count, warned, blocked, 0, true
  end
  return start, count, warned, blocked, 0, { from, seen, warning, 0, other }
end

local function guard_save(key, g, write)
  if write == true then
    call('HINCRBY', key, 'count', 1)
    return
  end
  if write[5] then
    call('DEL', key)
  end
  call('HSET', key, 'guard', ARGV[g], 'window', write[1], 'count', write[2],
             'warned_until', write[3], 'blocked_until', write[4])
  local fresh = math.max(write[1] + tonumber(ARGV[g + 1]), write[3], write[4])
  call('PEXPIRE', key, math.max(math.ceil((fresh - now) / 1000) + 60000, least))
end
