-- The Lua twin of token_bucket.c, on bucket.lua: it displays whole tokens.

---- shown ----
local room = capacity * span - y
shown, units = 'tokens', (room - room % span) / span

---- settle ----
z, known = z - spent - back, true

---- room ----
-- `debt` is the debt that a request of this limit finds; `owed`, in tokens of `token` ns, is the
-- debt to save. A call with need = 0 decides nothing: it saves the stored debt, which may be of
-- another limit.
local terms = out and out[key]
local debt = terms and terms[4] or y
local owed, token = debt, span
if need == 0 and how == 'add' then
  owed, token, repair = math.max(a - (now - b) * 1000, 0), c, false
  if terms then
    owed, token, repair = terms[6], terms[5], terms[7]
  end
end
if settled then
  debt = debt + spent * span
  owed = owed + spent * token
end
owed = math.min(owed, 7776000000000000) -- the longest span there is
y = math.min(debt + z * span, capacity * span)
room = (capacity * span - y - (capacity * span - y) % span) / span
a, b, c = y, now, span

---- lend ----
local left = room - granted
call('HSET', key, 'algorithm', kind, 'debt_ns', owed, 'last_refill', now, 'token_ns', token,
     'tokens', left, 'lease_end', stored_end, 'leased', recent, 'leased_before', older)
fresh = math.max(now, ends) + (owed + (recent + older) * math.max(span, token)) / 1000
