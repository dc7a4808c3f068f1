-- The key lives until its state is fresh again, rounded up to a second, and a minute longer.
if fresh then
  local life = (fresh - fresh % 1000000 + 1000000 - now) / 1000 + 60000
  call('PEXPIRE', key, math.max(math.ceil(life), least))
end
