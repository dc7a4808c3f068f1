-- The Lua twin of bucket.c: a debt that time pays. Both buckets' scripts include it.
--
--   algorithm    token_bucket
--   debt_ns      300000000           as of
--   last_refill  1700000000000000    µs
--   token_ns     100000000           the time of one token that it was written under
--   tokens       147                 for display: whole tokens left (leaky: `level`, queued)
--
-- A span is at most 90 days, so that every debt stays below 2^53 ns.
--
-- While units of it are leased (docs/leases.md) there are `lease_end`, `leased` and `leased_before`
-- too. Leased units count like debt in a decision, but time does not pay them (L8). A section that
-- writes uses `out[key]`, as of now: the terms and the debt in tokens of this limit; then, as
-- stored (only a limit that decides may clamp these to its own), the token time and the debt; then
-- whether the terms were repaired.
--
--   a, b, c   as stored: debt, as of, token time     y   the debt now, leased units included
--   z         leased units

---- converted ----
-- Returns a debt of `owed` ns as of `ahead` µs from now in tokens of this limit's size; whether a
-- denial saves that; whether the two token times are equal to bucket.c, which remembers them in 22
-- bits; and the value it remembers of the one that was written. Called if a rate has changed.
local function converted(owed, ahead, written, token)
  -- Returns the value of a token time kept in 22 bits, and whether it is exact.
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

  -- Returns a·b/c and the remainder, of whole numbers below 2^53, bit by bit: no sum or product
  -- passes 2^53. A quotient of 2^53 or more is returned as some number of at least that.
  local function mul_div(a, b, c)
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
    return quotient, left
  end

  local from, exact = short(written)
  local to, as_exact = short(token)
  if from == to and exact == as_exact then
    return owed + ahead * 1000, false, true, from
  end
  if ahead < 0 then
    owed, ahead = owed + ahead * 1000, 0
  end
  local quotient, left = 9007199254740992, 0
  if from > 0 then
    quotient, left = mul_div(ahead, token, from)
  end
  if quotient >= 9007199254740 then
    quotient, left = 9007199254740992, 0
  else -- in parts: if a clock leapt for months, the debt itself passes 2^53 ns
    local thousand, rest = mul_div(left, 1000, from)
    local more, also = mul_div(owed, token, from)
    quotient = quotient * 1000 + thousand + more + (rest >= from - also and 1 or 0)
    left = rest >= from - also and rest - (from - also) or rest + also
  end
  return left > 0 and quotient + 1 or quotient, exact, false, from
end

---- read ----
local stored = pcall('HMGET', key, 'algorithm', 'debt_ns', 'last_refill', 'token_ns', 'lease_end')
local terms, ahead
if stored[1] == kind then
  a, b, c = tonumber(stored[2]), tonumber(stored[3]), tonumber(stored[4])
  how = 'add'
  if stored[5] and stored[5] ~= '0' then
    local units = call('HMGET', key, 'leased', 'leased_before')
    local ends, recent, older = tonumber(stored[5]), tonumber(units[1]), tonumber(units[2])
    --@terms
    if lapsed_before > 0 then -- as of a second before `lapsed`
      a = math.max(a - math.max(lapse - 1000000 - b, 0) * 1000, 0) + lapsed_before * c
      b = math.max(b, lapse - 1000000)
    end
    if lapsed > 0 then
      a, b = math.max(a - math.max(lapse - b, 0) * 1000, 0) + lapsed * c, math.max(b, lapse)
    end
    terms, ahead = { ends, recent, older }, repair
    z = recent + older
  end
elseif stored.err or stored[1] then
  --@foreign
end
y = a - (now - b) * 1000
local owed = math.max(y, 0)
if y <= 0 then
  y = 0
else
  if c ~= span then
    --@converted
    y, repair = converted(a, b - now, c, span)
  end
  if y > capacity * span then
    y, repair = capacity * span, true
  end
end
if terms then
  repair = repair or ahead or y == 0 and c ~= span -- another rate, for leased units too
  terms[4], terms[5], terms[6], terms[7] = y, c, owed, ahead
  y = math.min(y + z * span, capacity * span)
  a, b, c = y, now, span
  out = out or {}
  out[key] = terms
end

---- decide ----
ok = cost <= capacity and y <= (capacity - cost) * span

---- charge ----
local shown, units
y = y + amount * span
--@shown
fresh = now + y / 1000
local terms = out and out[key]
if terms then
  local debt = terms[4] + amount * span
  call('HSET', key, 'debt_ns', debt, 'last_refill', now, 'token_ns', span, shown, units,
       'lease_end', z > 0 and terms[1] or 0, 'leased', terms[2], 'leased_before', terms[3])
  fresh = math.max(now, terms[1]) + (debt + z * span) / 1000
elseif how == 'add' and c == span then
  call('HSET', key, 'debt_ns', y, 'last_refill', now, shown, units)
  -- A key's lifetime is in whole seconds: it need not move with every charge.
  local before = b + a / 1000
  if fresh - fresh % 1000000 == before - before % 1000000 then
    fresh = nil
  end
else
  call('HSET', key, 'algorithm', kind, 'debt_ns', y, 'last_refill', now, 'token_ns', span, shown,
       units)
end

---- refund ----
--@converted
local terms = out and out[key]
local _, _, same = converted(0, 0, terms and terms[5] or c, span)
local paid = math.max(now - charged_at, 0) * 1000
local back = math.min(math.min(amount, capacity) * span - paid, terms and terms[4] or y)
if same and back > 0 and terms then
  call('HSET', key, 'debt_ns', terms[6] - back, 'last_refill', now, 'lease_end',
       z > 0 and terms[1] or 0, 'leased', terms[2], 'leased_before', terms[3])
elseif same and back > 0 then
  call('HSET', key, 'debt_ns', a - back)
end

---- overcharge ----
-- Past the limit, up to a span of debt. The debt that is there stays in tokens of the size it was
-- written under: this limit may be that of an old reservation, not the one in force.
--@converted
local terms = out and out[key]
if terms then -- of the debt alone
  a, b, c = terms[6], now, terms[5]
end
local owed = math.max(a - (now - b) * 1000, 0)
local _, _, same, size = converted(0, 0, c, span)
if same or owed == 0 or size == 0 then
  size = span
else
  span = c
end
local most = math.min(capacity, math.floor(7776000000000000 / size)) -- 90 days
y = math.max(owed, math.min(owed + math.min(amount, most) * size, most * size))
amount = 0
if terms then
  terms[4], y = y, math.min(y + z * span, capacity * span)
end
how = how == 'add' and 'set' or how
