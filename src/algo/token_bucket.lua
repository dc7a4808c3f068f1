-- The twin of token_bucket.c, on bucket.lua: for people it shows whole tokens.

---- shown ----
local room = capacity * span - y
shown, units = 'tokens', (room - room % span) / span
