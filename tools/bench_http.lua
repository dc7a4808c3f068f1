-- What wrk asks on behalf of tools/bench_http.py, bench_jwt.py and bench_redis.py:
--
--   wrk -s bench_http.lua URL -- CALL DEPTH KEYS
--
-- CALL is `authorize`, `check`, or a file: in each of its lines the header fields of one
-- call of /v1/authorize, as `Name: value`, with tabs between them.
--
-- Requests are written down before the clock runs: DEPTH of them in one text, sent at
-- once, the keys in turn. The last line that is printed is what was measured, as JSON.

local texts, at = {}, 0

local function fields_of(line)
   local fields = {}
   for name, value in line:gmatch("([^:\t]+): ([^\t]+)") do
      fields[name] = value
   end
   return fields
end

local function read_lines(file)
   local lines = {}
   for line in io.lines(file) do
      lines[#lines + 1] = line
   end
   return lines
end

local function ask(call, number)
   if type(call) == "table" then
      return wrk.format("GET", "/v1/authorize/api/videos", fields_of(call[number + 1]))
   end
   local user = string.format("user-%07d", number)
   if call == "check" then
      local body = '{"resource":"/api/videos","method":"GET","user":"' .. user .. '"}'
      return wrk.format("POST", "/v1/check", { ["Content-Type"] = "application/json" }, body)
   end
   return wrk.format("GET", "/v1/authorize/api/videos", { ["X-User"] = user })
end

function init(args)
   local call, depth, keys = args[1], tonumber(args[2]), tonumber(args[3])
   if call ~= "authorize" and call ~= "check" then
      call = read_lines(call)
   end
   for first = 0, keys - 1, depth do
      local together = {}
      for i = 0, depth - 1 do
         together[#together + 1] = ask(call, (first + i) % keys)
      end
      texts[#texts + 1] = table.concat(together)
   end
end

function request()
   at = at % #texts + 1
   return texts[at]
end

function done(summary, latency)
   local errors = summary.errors
   local broken = errors.connect + errors.read + errors.write + errors.timeout
   io.write(string.format(
      '{"requests": %d, "seconds": %.6f, "refused": %d, "broken": %d, "p50": %d, "p99": %d}\n',
      summary.requests, summary.duration / 1e6, errors.status, broken,
      latency:percentile(50), latency:percentile(99)))
end
