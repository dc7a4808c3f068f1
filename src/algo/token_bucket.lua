-- The twin of token_bucket.c, on bucket.lua: for people it shows whole tokens.

---- shown ----
shown, units = 'tokens', (capacity * span - y - (capacity * span - y) % span) / span
