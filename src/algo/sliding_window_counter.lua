-- The twin of sliding_window_counter.c: the current window's count, and the previous one's
-- weighted by how much of it a sliding window would still cover.
--
--   algorithm  sliding_window_counter/60000000
--   window     1700000040000000                  start of the current one, µs
--   count      17
--   previous   80

-- ⌊previous·rest/length⌋. The product passes 2^53 soon (at 3,474 in 30 days): seven bits at a
-- time then, where rest·128 stays below it.
local function weight_of(previous, rest, length)
  local product = previous * rest
  if product < 9007199254740992 then
    return (product - product % length) / length
  end
  local quotient, left = 0, 0
  for shift = 28, 0, -7 do
    local digit = math.floor(previous / 2 ^ shift) % 128
    local part = left * 128 + digit * rest
    left = part % length
    quotient = quotient * 128 + (part - left) / length
  end
  return quotient
end

-- The two windows as a decision now sees them: start, previous, count, repaired.
local function counter_at(p, window, previous, count)
  local length = tonumber(ARGV[p + 4])
  local start = now - now % length
  if previous == 0 and count == 0 then
    return start, 0, 0, false
  end
  if window >= start then
    if window - now <= 2 * length then
      return window, previous, count, false
    end
    local capacity = tonumber(ARGV[p + 3])
    return start, capacity, capacity, true
  end
  return start, start - window == length and count or 0, 0, false
end

local function counter_read(key, p)
  local stored = redis.pcall('HMGET', key, 'algorithm', 'window', 'previous', 'count')
  if stored.err then
    return -1, 0, 0, foreign(stored.err)
  end
  if stored[1] == ARGV[p + 1] then
    return tonumber(stored[2]), tonumber(stored[3]), tonumber(stored[4]), false
  end
  return -1, 0, 0, stored[1] -- no window starts before the epoch
end

local function counter_write(key, p, start, previous, count)
  redis.call('HSET', key, 'algorithm', ARGV[p + 1], 'window', start, 'previous', previous,
             'count', count)
  live(key, start + 2 * tonumber(ARGV[p + 4]))
end

twins.sliding_window_counter = {
  open = function(key, p)
    local window, older, counted, other = counter_read(key, p)
    local start, previous, count, repair = counter_at(p, window, older, counted)
    local estimate = count
    if previous > 0 then
      local length = tonumber(ARGV[p + 4])
      estimate = count + weight_of(previous, length - math.max(now - start, 0), length)
    end
    local how = other and 'anew' or (repair or start ~= window) and 'set' or 'add'
    return window, older, counted, cost == 0 or estimate + cost <= tonumber(ARGV[p + 3]), repair,
           start, count, how, previous
  end,

  charge = function(key, p, amount, start, count, how, previous)
    if how == 'add' then
      redis.call('HINCRBY', key, 'count', amount)
      return
    end
    if how == 'anew' then
      redis.call('DEL', key)
    end
    counter_write(key, p, start, previous, count + amount)
  end,

  ---- changing ----

  refund = function(key, p, amount, charged_at)
    local window, older, counted, other = counter_read(key, p)
    local start, previous, count, repair = counter_at(p, window, older, counted)
    local length = tonumber(ARGV[p + 4])
    local since = start - (charged_at - charged_at % length)
    if other or repair then
      return
    end
    if since == 0 and count > 0 then
      counter_write(key, p, start, previous, count - math.min(amount, count))
    elseif since == length and previous > 0 then
      counter_write(key, p, start, previous - math.min(amount, previous), count)
    end
  end,

  -- Twice the limit weighs down to the limit within the next window.
  overcharge = function(key, p, amount)
    local window, older, counted, other = counter_read(key, p)
    local start, previous, count, repair = counter_at(p, window, older, counted)
    if repair then
      return
    end
    if other then
      redis.call('DEL', key)
    end
    local most = math.min(2 * tonumber(ARGV[p + 3]), tonumber(ARGV[p + 5]))
    counter_write(key, p, start, previous, math.max(count, math.min(count + amount, most)))
  end,
  ---- changing ends ----
}
