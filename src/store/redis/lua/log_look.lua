-- Tells how far the logs are, one row if asked for, and whether a change was made.
--
--   ARGV 3  a row's name, or empty     4  a change, or empty
--   KEYS    the state; rows and marks of the log of the row and the change
local state = call('HMGET', KEYS[1], 'epoch', 'rules', 'rules_last', 'users', 'users_last')
local row, was_made = '', 0
if ARGV[3] ~= '' then
  row = call('HMGET', KEYS[2], ARGV[3])[1] or ''
end
if ARGV[4] ~= '' and call('ZSCORE', KEYS[3], ARGV[4]) then
  was_made = 1
end
return { now, tonumber(state[2] or 0), tonumber(state[4] or 0), was_made,
         state[1] or '', state[3] or '', state[5] or '', row }
