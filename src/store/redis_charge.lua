-- Nothing was written before this line.
for i = 1, n do
  if writes[i] then
    guard_save(guards[i], places[i] + 6, writes[i])
  end
  local amount = allowed and counts and oks[i] and cost or (repairs[i] and not peek and 0)
  if amount then
    twins[ARGV[places[i]]].charge(keys[i], places[i], amount, starts[i], debts[i], hows[i],
                                  olders[i])
  end
end
reply[2] = allowed and 1 or 0
return reply
