-- The Lua twin of leaky_bucket.c, on bucket.lua: it displays the units queued, and it may deny
-- because of the delay.

---- decide ----
if max_delay ~= '' and cost > 0 and y > max_delay * 1000 then
  ok = false
end

---- shown ----
shown, units = 'level', (y + (span - y % span) % span) / span
