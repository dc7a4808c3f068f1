-- Until it is fresh, to the second, and a minute.
if fresh then
  local life = (fresh - fresh % 1000000 + 1000000 - now) / 1000 + 60000
  call('PEXPIRE', key, math.max(math.ceil(life), least))
end
