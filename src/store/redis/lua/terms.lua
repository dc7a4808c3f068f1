-- Brings leased units up to date (docs/leases.md). Terms end at whole seconds; a call at `now` uses
-- the term that ends at the second whole second after it.
--
--   in    ends, recent, older   as stored: the newest term, the units leased in it, and in the one
--         before
--   out   the same as of now; units that have lapsed: `lapsed` at the instant `lapse`,
--         `lapsed_before` a second earlier
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
elseif ends > newest + 1000000 then -- the clock stepped back: no lease lasts so long
  ends, recent, older, repair = newest + 1000000, recent + older, 0, true
end
