-- A fixed window in Redis, as well as it can be written there (limit, window in seconds; limited,
-- limit, remaining, retry and reset in seconds). A denial is not counted. The key's own lifetime is
-- the window's end, so a new window begins with the first request, as `align: first_request` does.
local limit = tonumber(ARGV[1])
local count = tonumber(redis.call('GET', KEYS[1]) or 0)
if count >= limit then
    local left_s = math.ceil(redis.call('PTTL', KEYS[1]) / 1000)
    return { 1, limit, 0, left_s, left_s }
end
if redis.call('INCR', KEYS[1]) == 1 then
    redis.call('EXPIRE', KEYS[1], ARGV[2])
end
return { 0, limit, limit - count - 1, -1, math.ceil(redis.call('PTTL', KEYS[1]) / 1000) }
