# Work for a server with Debian's beaneater: `ruby work.rb PORT alone|producer|worker`. clients_test.py describes it.
require "beaneater"
require "digest"
require "json"

def say(*words)
  puts JSON.generate(words)
  $stdout.flush
end

def connect(port)
  Beaneater.new("127.0.0.1:#{port}")
end

def worker(port, *tubes)
  client = connect(port)
  client.tubes.watch!(*tubes)
  client
end

def digest(body)
  [body.bytesize, Digest::MD5.hexdigest(body)]
end

def priorities(producer, one, two)
  tube = producer.tubes["work"]
  { "low" => 30, "high" => 10, "middle" => 20 }.each { |body, pri| tube.put(body, pri: pri, ttr: 600) }
  first = one.tubes.reserve
  say("first", first.body)
  second = two.tubes.reserve
  say("second", second.body)
  first.release(pri: 5, delay: 0)
  again = two.tubes.reserve
  say("released", again.body)
  again.bury(pri: 7)
  counts = tube.stats
  say("counts", counts.current_jobs_ready, counts.current_jobs_reserved, counts.current_jobs_buried)
  say("kicked", tube.kick(10)[:id].to_i)
  kicked = one.tubes.reserve
  kicked.touch
  say("kicked", kicked.body, kicked.stats.pri)
  kicked.delete
  second.delete
  last = one.tubes.reserve
  say("last", last.body)
  last.delete
end

def tubes_and_delays(producer, one)
  producer.tubes["other"].put("elsewhere", ttr: 600)
  job = one.tubes.reserve
  say("other", job.body, job.stats.tube)
  job.delete
  begun = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  producer.tubes["other"].put("late", delay: 1, ttr: 600)
  job = one.tubes.reserve(3600)
  say("late", job.body, Process.clock_gettime(Process::CLOCK_MONOTONIC) - begun >= 0.999)
  job.delete
end

def bodies(producer, one)
  text = "é\r\n\0" * 13_107 + "x"
  producer.tubes["work"].put(text, ttr: 600)
  job = one.tubes.reserve
  say("text", *digest(job.body))
  job.delete
  begin
    producer.tubes["work"].put(text + "x")
  rescue Beaneater::JobTooBigError
    say("too big")
  end
  one.tubes.watch("given")
  job = one.tubes.reserve
  say("given", *digest(job.body))
  producer.tubes["back"].put(job.body, ttr: 600)
  job.delete
end

def restart(producer)
  producer.tubes["work"].put("kept", pri: 1, ttr: 600)
  producer.tubes["work"].put("kept and late", pri: 2, delay: 1, ttr: 600)
  say("restart")
  after = worker($stdin.gets.to_i, "work")
  2.times do
    job = after.tubes.reserve(3600)
    say("kept", job.body)
    job.delete
  end
  counts = after.stats
  say("left", counts.current_jobs_ready, counts.current_jobs_reserved, counts.current_jobs_delayed,
      counts.current_jobs_buried)
end

port, role = ARGV
case role
when "producer"
  tube = connect(port).tubes["many"]
  200.times { |number| tube.put("job #{number}", pri: 10, ttr: 600) }
  2.times { tube.put("end", pri: 20, ttr: 600) }
when "worker"
  client = worker(port, "many")
  loop do
    job = client.tubes.reserve
    say("got", job.body)
    job.delete
    break if job.body == "end"
  end
else
  producer = connect(port)
  one = worker(port, "work", "other")
  two = worker(port, "work", "other")
  priorities(producer, one, two)
  tubes_and_delays(producer, one)
  bodies(producer, one)
  restart(producer)
end
