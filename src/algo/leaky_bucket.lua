-- The twin of leaky_bucket.c, on bucket.lua.
twins.leaky_bucket = bucket('level')
