-- Lists reservations that have expired, at most 32 of their numbers.  KEYS  the queue
return call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, 32)
