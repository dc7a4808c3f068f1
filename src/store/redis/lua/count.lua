-- Adds requests that were denied without asking Redis to a guard's count. It never warns or blocks:
-- only the next request can set that off.
--
--   ARGV 3  the guard: its name in the state, window, penalty, threshold
--        7  start of the window that they fell in    8  how many
--   reply   now; 1: the next request sets off a warning or a block
local counts = true
--@functions
local start, count, warned, blocked, other = guard_read(KEYS[1], 3)
if blocked > now or other then
  return { now, 0 } -- blocked requests do not count; another edition's guard stays
end
local penalty, length = tonumber(ARGV[5]), tonumber(ARGV[4])
local from, seen, warning = guard_view(3, start, count, warned)
if blocked > 0 then
  from, seen, warning = guard_view(3, 0, 0, 0)
end
if tonumber(ARGV[7]) < now - now % length then
  return { now, 0 } -- that window is over
end
seen = seen + tonumber(ARGV[8])
guard_save(KEYS[1], 3, { from, seen, warning, 0 })
local given = warning - penalty
local is_new = warning == 0 or from ~= given - given % length
return { now, seen >= tonumber(ARGV[6]) and is_new and 1 or 0 }
