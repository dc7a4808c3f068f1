-- The numbers of reservations whose end has come, some of them.  KEYS  the queue
return call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, 32)
