#!/usr/bin/ruby
# A client of run.sh in Ruby.
require 'sqlite3'

$stdout.sync = true

def connect(path, milliseconds)
  db = SQLite3::Database.new(path)
  db.busy_timeout = milliseconds.to_i
  db.enable_load_extension(true)
  db.load_extension(ENV.fetch('PTABLE'))
  db
end

def shown(value)
  case value
  when nil then 'null'
  when Integer then "integer:#{value}"
  when Float then "real:#{value}"
  else value.encoding == Encoding::ASCII_8BIT ? "blob:#{value.unpack1('H*')}" : "text:#{value}"
  end
end

def query(sql)
  $db.execute(sql).map { |row| row.map { |value| shown(value) }.join('|') }.join(';')
end

def insert(table)
  rows = [['p', '1', "it's \"ünï\" €𝄞", (2**63) - 1, 0.1, SQLite3::Blob.new("\0\xff'".b), nil],
          ['p', '2', '', -(2**63), -2.5, SQLite3::Blob.new("\0".b), nil]]
  $db.transaction do
    $db.prepare("INSERT INTO #{table} VALUES(?,?,?,?,?,?,?)") do |statement|
      rows.each { |row| statement.execute(*row) }
    end
  end
  ''
end

def repeat(db, name, count)
  count.to_i.times do |i|
    db.transaction(:immediate) do
      db.execute('INSERT INTO Item(PartitionKey, RowKey) VALUES(?, ?)', [name, i.to_s])
      db.execute('UPDATE Counter SET N = N + 1')
    end
  end
  ''
end

# Ruby's lock is held while SQLite waits, so a thread must not wait for another one: each has its
# turn, and its connection is used in a thread and left to another to collect.
def threads(path, number, count)
  turn = Mutex.new
  Array.new(number.to_i) do |t|
    Thread.new do
      db = connect(path, 60_000)
      count.to_i.times do |i|
        turn.synchronize { repeat_once(db, "thread-#{t}", i) }
      end
    end
  end.each(&:join)
  ''
end

def repeat_once(db, name, i)
  db.transaction(:immediate) do
    db.execute('INSERT INTO Item(PartitionKey, RowKey) VALUES(?, ?)', [name, i.to_s])
    db.execute('UPDATE Counter SET N = N + 1')
  end
end

def abandon(sql)
  $abandoned = $db.prepare(sql)
  shown($abandoned.step[0])
end

def forget
  $abandoned = nil
  $db = nil
  GC.start
  ''
end

def perform(command, rest)
  case command
  when 'open'
    $db = connect(*rest.rpartition(' ').values_at(0, 2))
    ''
  when 'run', 'query' then query(rest)
  when 'insert' then insert(rest)
  when 'repeat' then repeat($db, *rest.split)
  when 'threads' then threads(*rest.split)
  when 'abandon' then abandon(rest)
  when 'close' then $db.close && ''
  when 'forget' then forget
  when 'leave'
    puts 'ok '
    exit 0
  end
end

$stdin.each_line(chomp: true) do |line|
  command, rest = line.split(' ', 2)
  puts "ok #{perform(command, rest)}"
rescue SQLite3::Exception => e
  puts "error #{(e.code || 0) & 255} #{e.message}"
end
