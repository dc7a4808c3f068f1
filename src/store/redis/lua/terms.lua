-- What is out, as it is now (docs/leases.md): terms end at whole seconds, the newest one that
-- a call at `now` uses is the second of these after it.
--
--   in    ends, recent, older   as stored: the newest term, what is out of it, and of the one before
--   out   the same as of now; what has lapsed: `lapsed` at the instant `lapse`, `lapsed_before` a
--         second earlier
local newest = now - now % 1000000 + 2000000
local lapse, lapsed, lapsed_before = ends, 0, 0
if ends < newest then
  lapsed_before = older
  if ends == newest - 1000000 then
    older = recent
  else
    older, lapsed = 0, recent
  end
  ends, recent = newest, 0
elseif ends > newest + 1000000 then -- the clock stepped back; nobody holds anything for so long
  ends, recent, older, repair = newest + 1000000, recent + older, 0, true
end
