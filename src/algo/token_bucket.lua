-- The twin of token_bucket.c, on bucket.lua: for people it shows whole tokens.

---- shown ----
local room = capacity * span - y
shown, units = 'tokens', (room - room % span) / span

---- settle ----
z, known = z - spent - back, true

---- room ----
local debt = out and out[key][4] or y
if settled then
  debt = debt + spent * span
end
y = math.min(debt + z * span, capacity * span)
room = (capacity * span - y - (capacity * span - y) % span) / span
a, b, c = y, now, span

---- lend ----
local left = room - granted
call('HSET', key, 'algorithm', kind, 'debt_ns', debt, 'last_refill', now, 'token_ns', span,
     'tokens', left, 'lease_end', stored_end, 'leased', recent, 'leased_before', older)
fresh = math.max(now, ends) + (debt + (recent + older) * span) / 1000
