-- The twin of leaky_bucket.c, on bucket.lua: for people it shows what is queued, and it may deny for
-- the delay.

---- decide ----
if max_delay ~= '' and cost > 0 and y > max_delay * 1000 then
  ok = false
end

---- shown ----
shown, units = 'level', (y + (span - y % span) % span) / span
