-- A decision's question, for its algorithms.  ARGV 5  cost   6  peek
local cost, peek = tonumber(ARGV[5]), ARGV[6] == '1'
local counts = cost > 0 and not peek
