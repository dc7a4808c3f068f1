-- A key of another algorithm or type is made anew; any other error is passed on.
if stored.err and not string.find(stored.err, 'WRONGTYPE', 1, true) then
  error(stored.err)
end
how = 'anew'
