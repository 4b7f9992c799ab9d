-- The store of one shared group: takes one agent's report, answers with its part. Redis and Valkey run a script whole, so
-- reports are taken one after the other.
--
-- KEYS[1]: a hash. A field a member, named "host instance", with the figures below; and "born", when the hash began.
-- Sums are pairs, rate and pending; a maximum of 0 is none, and nothing is given or kept of it. Times are the server's own,
-- milliseconds.
--
-- What never fails while the hash is kept: of each maximum, the parts of the members that are there and what is reserved
-- for the missing ones add up to no more than the maximum, as long as the agents hold no more than they were given.
local NUMBER, ENDS, FALLBACK, MAX, PART, DEMAND, USED, LEVEL, HEARD = 1, 2, 3, 4, 6, 8, 10, 12, 13
-- How long what a member sent last counts in others' seconds.
local SECOND = 1000
local WHOLE = 1000000

local host, me = ARGV[1], ARGV[1] .. ' ' .. ARGV[2]
local arg = {}
for at = 3, #ARGV do arg[at - 2] = tonumber(ARGV[at]) end
local number, made, age = arg[1], arg[2], arg[3]
local lease, grace, forget, agents, fallback = arg[4], arg[5], arg[6], arg[7], arg[8]
local configured, held, want = { arg[9], arg[10] }, { arg[11], arg[12] }, { arg[13], arg[14] }
local demand, used, level = { arg[15], arg[16] }, { arg[17], arg[18] }, arg[19]
local goodbye = lease == 0
local max = { configured[1], configured[2] }
local cold = fallback < 0

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local born, mine, others = nil, nil, {}
local all = redis.call('HGETALL', KEYS[1])
for at = 1, #all, 2 do
  local name, member = all[at], {}
  for word in string.gmatch(all[at + 1], '%S+') do member[#member + 1] = tonumber(word) end
  if name == 'born' then
    born = member[1]
  elseif name == me then
    mine = member
  else
    local over = now - member[ENDS]
    -- Another instance of the same agent has been replaced by this one.
    local replaced = string.sub(name, 1, #host + 1) == host .. ' '
    if over >= forget or (over >= SECOND and (replaced or member[FALLBACK] == 0)) then
      redis.call('HDEL', KEYS[1], name)
    else
      member.over = over
      others[#others + 1] = member
    end
  end
end

-- Overtaken by a later one, or so late that what it says may be true no more.
if mine and number <= mine[NUMBER] then return {} end
if made == 0 or made > now then made = now end
if now - made > 2 * lease and not goodbye then return {} end
-- When the last report was made that the agent has had an answer to: from then on it counts the time that it is away.
local heard = made - age

-- Members whose settings differ keep to the least of their maxima.
for sum = 1, 2 do
  for _, member in ipairs(others) do
    local theirs = member[MAX + sum - 1]
    if theirs > 0 and (max[sum] == 0 or theirs < max[sum]) then max[sum] = theirs end
  end
end
local function equal(sum, share) return math.floor(max[sum] * share / WHOLE) end

-- An agent that holds more than this hash knows of has been given it by one that is lost.
local lost = not born or (not mine and not cold)
for sum = 1, 2 do
  if mine and max[sum] > 0 and held[sum] > math.max(mine[PART + sum - 1], equal(sum, mine[FALLBACK])) then lost = true end
end
if lost then
  born = now
  redis.call('HSET', KEYS[1], 'born', string.format('%.0f', born))
end
local settled = now >= born + grace

local missing, fallbacks, highest = 0, 0, 0
local taken, reserved, theirs, demands = { 0, 0 }, { 0, 0 }, { 0, 0 }, {}
for _, member in ipairs(others) do
  fallbacks = fallbacks + member[FALLBACK]
  local there = member.over < 0
  if there then highest = math.max(highest, member[LEVEL]) else missing = missing + 1 end
  for sum = 1, 2 do
    local part = member[PART + sum - 1]
    if there then theirs[sum] = theirs[sum] + member[USED + sum - 1] end
    if there and (goodbye or now - member[HEARD] < 2 * lease) then
      taken[sum] = taken[sum] + part
      demands[#demands + 1] = member[DEMAND + sum - 1]
    else
      -- It may be at work all the same, cut off from here or from our answers: with what it had for a moment, then with its
      -- fallback part.
      local keeps = equal(sum, member[FALLBACK])
      if member.over < SECOND then keeps = math.max(keeps, part) end
      reserved[sum] = reserved[sum] + keeps
    end
  end
end

local part = { held[1], held[2] }
if settled then
  for sum = 1, 2 do
    part[sum] = math.max(held[sum], math.min(want[sum], max[sum] - taken[sum] - reserved[sum]))
  end
end
if goodbye then
  -- It says goodbye.
  fallback = 0
else
  fallback = math.max(fallback, 0)
  if settled then
    local share = math.floor(WHOLE / math.max(agents, #others + 1))
    fallback = math.max(fallback, math.min(share, WHOLE - fallbacks))
  end
end

local record = { number, now + lease, fallback, configured[1], configured[2], part[1], part[2], demand[1], demand[2], used[1], used[2],
  level, heard }
for at, figure in ipairs(record) do record[at] = string.format('%.0f', figure) end
redis.call('HSET', KEYS[1], me, table.concat(record, ' '))
redis.call('PEXPIRE', KEYS[1], 2 * forget)

local answer = { now, settled and 1 or 0, part[1], part[2], fallback, max[1], max[2], missing,
  reserved[1], reserved[2], theirs[1], theirs[2], highest }
for _, figure in ipairs(demands) do answer[#answer + 1] = figure end
return answer
