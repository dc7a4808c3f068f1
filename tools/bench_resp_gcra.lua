-- One token bucket in Redis, as well as it can be written there: CL.THROTTLE's arguments and
-- answer (max_burst, count, period in seconds, quantity; limited, limit, remaining, retry and
-- reset in seconds) in one GET and one SET. The state is one moment in µs, when the bucket will be
-- full again; µs since 1970 are below 2^53, so Lua's numbers hold them exactly.
local burst, quantity = ARGV[1] + 1, tonumber(ARGV[4])
local token_us = ARGV[3] * 1000000 / ARGV[2]
local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
local full_at_us = tonumber(redis.call('GET', KEYS[1]) or now_us)
if full_at_us < now_us then
    full_at_us = now_us
end
local debt_us = full_at_us + token_us * quantity - now_us
local over_us = debt_us - token_us * burst
if over_us > 0 then
    debt_us = full_at_us - now_us
    return { 1, burst, burst - math.ceil(debt_us / token_us), math.ceil(over_us / 1000000),
             math.ceil(debt_us / 1000000) }
end
redis.call('SET', KEYS[1], now_us + debt_us, 'PX', math.ceil(debt_us / 1000))
return { 0, burst, burst - math.ceil(debt_us / token_us), -1, math.ceil(debt_us / 1000000) }
