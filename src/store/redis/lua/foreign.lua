-- A key of another algorithm, or of another type; anything else that went wrong stays wrong.
if stored.err and not string.find(stored.err, 'WRONGTYPE', 1, true) then
  error(stored.err)
end
how = 'anew'
