-- The twin of fixed_window.c: a count that starts again when the window ends.
--
--   HGETALL rl:{acme}:api:u1
--   algorithm  fixed_window/60000000     by it another algorithm or window starts afresh
--   window     1700000040000000          its start, µs
--   count      17
--
-- Within a window only the count moves; the key's lifetime moves with the window.

-- The window that a decision now belongs to: start, count, repaired.
local function fixed_window_at(p, start, count)
  local length = tonumber(ARGV[p + 4])
  if count > 0 and start + length > now then
    if start - now <= length then
      return start, count, false
    end
    return ARGV[p + 5] == '1' and now or now - now % length, tonumber(ARGV[p + 3]), true
  end
  return ARGV[p + 5] == '1' and now or now - now % length, 0, false
end

local function fixed_window_read(key, p)
  local stored = redis.pcall('HMGET', key, 'algorithm', 'window', 'count')
  if stored.err then
    return 0, 0, foreign(stored.err)
  end
  if stored[1] == ARGV[p + 1] then
    return tonumber(stored[2]), tonumber(stored[3]), false
  end
  return 0, 0, stored[1]
end

local function fixed_window_write(key, p, start, count)
  redis.call('HSET', key, 'algorithm', ARGV[p + 1], 'window', start, 'count', count)
  live(key, start + tonumber(ARGV[p + 4]))
end

twins.fixed_window = {
  open = function(key, p)
    local window, counted, other = fixed_window_read(key, p)
    local start, count, repair = fixed_window_at(p, window, counted)
    local how = other and 'anew' or (repair or start ~= window or counted == 0) and 'set' or 'add'
    return window, counted, 0, cost == 0 or count + cost <= tonumber(ARGV[p + 3]), repair, start,
           count, how
  end,

  charge = function(key, p, amount, start, count, how)
    if how == 'add' then
      redis.call('HINCRBY', key, 'count', amount)
      return
    end
    if how == 'anew' then
      redis.call('DEL', key)
    end
    fixed_window_write(key, p, start, count + amount)
  end,

  ---- changing ----

  refund = function(key, p, amount, charged_at)
    local window, counted, other = fixed_window_read(key, p)
    local start, count, repair = fixed_window_at(p, window, counted)
    if other or repair or count == 0 or charged_at < start or
       charged_at >= start + tonumber(ARGV[p + 4]) then
      return
    end
    redis.call('HINCRBY', key, 'count', -math.min(amount, count))
  end,

  overcharge = function(key, p, amount)
    local window, counted, other = fixed_window_read(key, p)
    local start, count, repair = fixed_window_at(p, window, counted)
    if repair then
      return
    end
    if other then
      redis.call('DEL', key)
    end
    fixed_window_write(key, p, start, math.min(count + amount, 4294967295))
  end,
  ---- changing ends ----
}
