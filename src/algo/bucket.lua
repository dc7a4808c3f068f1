-- The twin of bucket.c: a debt that time pays. What both buckets share.
--
--   algorithm    token_bucket
--   debt_ns      300000000           as of
--   last_refill  1700000000000000    µs
--   token_ns     100000000           the time of one token that it was written under
--   tokens       147                 for people: whole tokens left (leaky: `level`, queued)
--
-- A span is at most 90 days, so that every debt stays below 2^53 ns.

-- The debt in tokens of this limit's size, whether a denial is to save that, and whether the two
-- times are one to bucket.c, which remembers them in 22 bits. For rates that have changed: what it
-- needs is not made for anybody else.
local function converted(debt, written, token)
  -- A token time in 22 bits: its value, and whether it is exact.
  local function short(time)
    local m, unit = time, 1
    while m >= 131072 and m % 10 == 0 do
      m = m / 10
    end
    if m < 131072 then
      return time, true
    end
    m = time
    while m >= 65536 do
      m, unit = math.floor(m / 2), unit * 2
    end
    return m * unit, false
  end

  -- ⌈a·b/c⌉ for whole numbers below 2^53, bit by bit: no sum or product passes that. More than
  -- 2^53 is only said to be more.
  local function mul_div_ceil(a, b, c)
    local quotient, left, bit = 0, 0, 1
    local whole = math.floor(a / c)
    local part = a - whole * c
    local function add(more, rest)
      quotient = quotient + more
      if left >= c - rest then
        quotient, left = quotient + 1, left - (c - rest)
      else
        left = left + rest
      end
    end
    while bit * 2 <= b do
      bit = bit * 2
    end
    while bit >= 1 and quotient < 9007199254740992 do
      add(quotient, left)
      if b >= bit then
        b = b - bit
        add(whole, part)
      end
      bit = bit / 2
    end
    return left > 0 and quotient + 1 or quotient
  end

  local from, exact = short(written)
  local to, as_exact = short(token)
  if from == to and exact == as_exact then
    return debt, false, true
  end
  return from > 0 and mul_div_ceil(debt, token, from) or 9007199254740992, exact, false
end

-- The debt now under this limit, and whether that is not what is stored.
local function debt_at(p, debt, last, written)
  local token = tonumber(ARGV[p + 4])
  local repair = false
  debt = debt - (now - last) * 1000
  if debt <= 0 then
    return 0, false
  end
  local span = tonumber(ARGV[p + 3]) * token
  if debt > 7776000000000000 then
    return span, true
  end
  if written ~= token then
    debt, repair = converted(debt, written, token)
  end
  if debt > span then
    return span, true
  end
  return debt, repair
end

local function bucket_read(key, p)
  local stored = redis.pcall('HMGET', key, 'algorithm', 'debt_ns', 'last_refill', 'token_ns')
  if stored.err then
    return 0, 0, 0, foreign(stored.err)
  end
  if stored[1] == ARGV[p + 1] then
    return tonumber(stored[2]), tonumber(stored[3]), tonumber(stored[4]), false
  end
  return 0, 0, 0, stored[1]
end

local function bucket_write(key, p, shown, debt)
  local token = tonumber(ARGV[p + 4])
  local units
  if shown == 'tokens' then
    local room = tonumber(ARGV[p + 3]) * token - debt
    units = (room - room % token) / token
  else
    units = (debt + (token - debt % token) % token) / token
  end
  redis.call('HSET', key, 'algorithm', ARGV[p + 1], 'debt_ns', debt, 'last_refill', now,
             'token_ns', ARGV[p + 4], shown, units)
  live(key, now + debt / 1000)
end

local function bucket(shown)
  return {
    open = function(key, p)
      local owed, last, written, other = bucket_read(key, p)
      local debt, repair = debt_at(p, owed, last, written)
      local capacity = tonumber(ARGV[p + 3])
      local allowed = cost <= capacity and
                      debt <= (capacity - cost) * tonumber(ARGV[p + 4])
      return owed, last, written, allowed, repair, now, debt, other and 'anew' or 'set', 0,
             shown == 'level' and math.ceil(debt / 1000) or 0
    end,

    charge = function(key, p, amount, _, debt, how)
      if how == 'anew' then
        redis.call('DEL', key)
      end
      bucket_write(key, p, shown, debt + amount * tonumber(ARGV[p + 4]))
    end,

    ---- changing ----

    refund = function(key, p, amount, charged_at)
      local owed, last, written, other = bucket_read(key, p)
      local debt = debt_at(p, owed, last, written)
      local token, capacity = tonumber(ARGV[p + 4]), tonumber(ARGV[p + 3])
      local _, _, same = converted(0, written, token)
      local back = math.min(math.min(amount, capacity) * token -
                            math.max(now - charged_at, 0) * 1000, debt)
      if other or not same or back <= 0 then
        return
      end
      redis.call('HSET', key, 'debt_ns', owed - back)
    end,

    overcharge = function(key, p, amount)
      local owed, last, written, other = bucket_read(key, p)
      local token, capacity = tonumber(ARGV[p + 4]), tonumber(ARGV[p + 3])
      local debt = debt_at(p, owed, last, written)
      debt = math.min(debt + math.min(amount, capacity) * token, capacity * token)
      if other then
        redis.call('DEL', key)
      end
      local _, _, same = converted(0, written, token)
      if same then
        debt = math.max(debt, owed - (now - last) * 1000) -- no less than before
      end
      bucket_write(key, p, shown, debt)
    end,
    ---- changing ends ----
  }
end
