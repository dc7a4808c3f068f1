-- A claim's state and its guard's, gone.  KEYS  both
call('DEL', unpack(KEYS))
return { now, 1 }
