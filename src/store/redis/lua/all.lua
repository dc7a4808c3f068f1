-- Decides a request with any number of claims: reads and decides all, then charges all or none.
--
--   ARGV 3  cost   4  `p`: a peek, `d`: denied in any case, `pd`: both; or empty; with `m`
--           each claim has its own cost: `1,5,1p,`, where `p` is a peek
--        5  the longest delay, µs; empty: any   6  a unique name, for the entry of a log
--        7  claims, one after another: its name in the state, capacity, window or token time,
--           `s`: shadow, `f`: first_request, `sf`: both; its algorithm; and with a guard its name
--           in the state, window, penalty, threshold; else an empty word
--   KEYS    of each claim its key, then its guard's key
--   reply   packed: now, allowed, and of each claim what was stored: with a guard window, count,
--           warning and block, then a, b, c
local cost, mode, max_delay, nonce = tonumber(ARGV[3]), ARGV[4], ARGV[5], ARGV[6]
local peek = mode == 'p' or mode == 'pd'
local next_cost = (mode == 'm' or mode == 'md') and string.gmatch(ARGV[3], '(%d+)(p?),') or nil
local counts = cost and cost > 0 and not peek
--@functions
local told, t = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }, 0
local kept, s = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                  0, 0, 0, 0 }, 0
local p, k, allowed, writes = 7, 1, mode ~= 'd' and mode ~= 'pd' and mode ~= 'md', nil
local words = #ARGV
while p < words and ARGV[p] ~= 'hold' do
  local kind, capacity, span, extra, name =
    ARGV[p], tonumber(ARGV[p + 1]), tonumber(ARGV[p + 2]), ARGV[p + 3], ARGV[p + 4]
  local key, blocked = KEYS[k], 0
  local shadow = extra == 's' or extra == 'sf'
  local a, b, c, x, y, z = 0, 0, 0, 0, 0, 0
  local ok, repair, how = false, false, 'set'
  if next_cost then
    local amount, looks = next_cost()
    cost, peek = tonumber(amount), looks == 'p'
    counts = cost > 0 and not peek
  end
  if ARGV[p + 5] ~= '' then
    local write
    told[t + 1], told[t + 2], told[t + 3], told[t + 4], blocked, write =
      guard_open(KEYS[k + 1], p + 5)
    t = t + 4
    if write then
      writes = writes or {}
      writes[#writes + 1] = { KEYS[k + 1], p + 5, write }
    end
  end
  --@read
  --@decide
  if blocked > 0 and not shadow then
    ok = false
  end
  if not ok and not shadow then
    allowed = false
  end
  told[t + 1], told[t + 2], told[t + 3] = a, b, c
  t = t + 3
  kept[s + 1], kept[s + 2], kept[s + 3], kept[s + 4], kept[s + 5], kept[s + 6], kept[s + 7],
    kept[s + 8] = p, k, ok, repair, how, x, y, z
  kept[s + 9], kept[s + 10], kept[s + 11], kept[s + 12], kept[s + 13] = a, b, c, counts and cost, peek
  s = s + 13
  if ARGV[p + 5] == '' then
    p, k = p + 6, k + 1
  else
    p, k = p + 9, k + 2
  end
end
--@hold
for i = 1, writes and #writes or 0 do
  guard_save(writes[i][1], writes[i][2], writes[i][3])
end
for i = 1, s, 13 do
  local at, ok, repair, how, x, y, z, a, b, c = kept[i], kept[i + 2], kept[i + 3], kept[i + 4],
    kept[i + 5], kept[i + 6], kept[i + 7], kept[i + 8], kept[i + 9], kept[i + 10]
  local amount, fresh = false, nil
  if allowed and ok and kept[i + 11] then
    amount = kept[i + 11]
  elseif repair and not kept[i + 12] then
    amount = 0
  end
  if amount then
    local kind, name, key = ARGV[at], ARGV[at + 4], KEYS[kept[i + 1]]
    local capacity, span = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
    if how == 'anew' then
      call('DEL', key)
    end
    --@charge
    --@expire
  end
end
local parts = { struct.pack('<ll', now, allowed and 1 or 0) }
for i = 1, t, 240 do -- Lua's stack is short
  local last = math.min(i + 239, t)
  parts[#parts + 1] = struct.pack('<' .. string.rep('l', last - i + 1), unpack(told, i, last))
end
return table.concat(parts)
