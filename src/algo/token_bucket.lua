-- The twin of token_bucket.c, on bucket.lua.
twins.token_bucket = bucket('tokens')
